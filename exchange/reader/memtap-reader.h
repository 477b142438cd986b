/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmemtap-reader.so: traces as Arrow tables, for the Python package and other callers of C. Plain
 * C types only; nothing is ever removed from this interface. Any thread; each stream may be used by
 * one thread at a time. Native frames have the names that memtap symbolize wrote into the trace: no
 * other file is opened. Errors are one line in `error` (`size` bytes, always terminated): where,
 * and what is wrong.
 */
#ifndef MEMTAP_READER_H
#define MEMTAP_READER_H

#include "arrow.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The interface's version, which grows with new functions, tables and columns. */
#define MEMTAP_READER_ABI 4
int memtap_reader_abi(void);

/*
 * Set the limits of each query below, for the process: bytes of memory, bytes of rows, and events.
 * A small hostile file can expand to any number of them. 0, the default: the environment variables
 * MEMTAP_MOST_MEMORY, MEMTAP_MOST_OUTPUT (sizes: "2GiB") and MEMTAP_MOST_EVENTS, or limits by the
 * traces' size, which are more than recordings need. A query over a limit fails with the error
 * MEMTAP_READER_TOO_MUCH and a message that names the limit.
 */
void memtap_reader_limits(uint64_t memory, uint64_t output, uint64_t events);
#define MEMTAP_READER_TOO_MUCH 27 /* EFBIG */

/* Return the limit on bytes of rows for a query of this trace, for callers that expand them. */
uint64_t memtap_reader_most_output(const char *path);

/* Return what a trace states about its process, as lines "key=value" (control characters and
 * backslashes as \n, \xHH): first memtap's own, "trace.state", "trace.version", "trace.bytes"; to
 * be freed with free(); NULL: see error. Reads the trace's beginning only. */
char *memtap_reader_about(const char *path, char *error, size_t size);

/* Return the name of a table, from number 0; NULL after the last. */
const char *memtap_reader_table(int number);

/* Create the schema of a table, to be released. Return 0, or an errno with `error` filled. */
int memtap_reader_schema(const char *table, struct ArrowSchema *out, char *error, size_t size);

/* Open a stream of a table's rows of the traces, one trace after the other, to be released: 0, or
 * an errno with `error` filled. The first batch is read here, so that a wrong moment or trace is an
 * error here. at: of blocks and categories, the moment ("peak", "end", "oom", "last-turn", "1.5s",
 * "event:N", "step:N", as memtap blocks --at has it); NULL: the peak; of blocks "all": each that
 * there was.
 * accepts_damaged: not 0: rows up to the place where a trace is damaged, instead of an error. */
int memtap_reader_stream(const char *const *paths, size_t n_paths, const char *table,
                         const char *at, int accepts_damaged, struct ArrowArrayStream *out,
                         char *error, size_t size);

/* Open streams of several tables of one trace at the peak, a table each, as above; the trace is
 * analyzed once for all of them, so one thread at a time uses and releases them. */
int memtap_reader_streams(const char *path, const char *const *tables, size_t n,
                          int accepts_damaged, struct ArrowArrayStream *const *out, char *error,
                          size_t size);

/* Write the name by which memtap diff compares a file: without what differs between machines,
 * installations and versions. working_directory: the process's, "" if not known. */
void memtap_reader_comparable_file(const char *file, const char *working_directory, char *out,
                                   size_t size);

/* Write what a command line runs: "train.py", or a module's name after -m. */
void memtap_reader_program(const char *command, char *out, size_t size);

/* Write bytes as reports do: "18.42 GiB". */
void memtap_reader_size(uint64_t bytes, char *out, size_t size);

/* Set what Python's capsules need: the names that they must have, as texts that stay; room for a
 * structure that one holds; and the destructors, which release what was not moved out. get_pointer:
 * PyCapsule_GetPointer, to be given once before any capsule is made. */
void memtap_reader_set_capsules(void *(*get_pointer)(void *capsule, const char *name));
const char *memtap_reader_schema_name(void);
const char *memtap_reader_stream_name(void);
struct ArrowSchema *memtap_reader_new_schema(void);
struct ArrowArrayStream *memtap_reader_new_stream(void);
void memtap_reader_end_schema(void *capsule);
void memtap_reader_end_stream(void *capsule);

#ifdef __cplusplus
}
#endif

#endif
