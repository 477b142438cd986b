/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a trace file block by block, in file order, then its tail if the recording was not closed.
 * An older segment next to it comes first. Events come in time order, except for a bounded disorder
 * between threads. A reader may be used by one thread at a time.
 */
#ifndef MT_TRACE_READER_H
#define MT_TRACE_READER_H

#include <stdbool.h>

#include "model.h"

struct mt_reader;

/* How a recording ended, as far as the trace shows when it is opened. */
enum mt_trace_state {
    MT_TRACE_CLOSED,  /* properly, with an end block */
    MT_TRACE_RUNNING, /* still being written */
    MT_TRACE_KILLED,  /* killed; its tail has the rest, up to the last event */
    MT_TRACE_OPEN,    /* not closed, without a tail: the last moments may be missing */
    /* These have an info record (stopped, executed). The tail has the rest, up to that moment. */
    MT_TRACE_STOPPED,  /* writing failed; the program continued */
    MT_TRACE_EXECUTED, /* the process executed another program */
    MT_TRACE_STATES
};

/* "closed" and so on. */
extern const char *const mt_trace_state_names[MT_TRACE_STATES];

enum mt_batch_type { MT_BATCH_DEFINITIONS, MT_BATCH_EVENTS, MT_BATCH_END };

/* Records of one block: all of them, or some thousand events. The reader owns the arrays and their
 * texts. They stay valid during the next call of mt_reader_next, but not the one after it, so that
 * a caller can be one batch ahead. */
struct mt_batch {
    enum mt_batch_type type;
    enum mt_trace_state state; /* of the trace */
    bool is_tail;              /* the batch is in the file's tail */
    bool is_older;             /* the batch is in the older segment */
    bool is_carried;           /* events that replace a missing older segment */
    unsigned version;          /* of the file's format; 0: not known */
    uint64_t offset;           /* of the block, bytes from the file's beginning */
    uint64_t file_size;        /* of the file with this batch, bytes */
    const struct mt_definition *definitions;
    size_t n_definitions;
    const struct mt_event *events;
    size_t n_events;
    struct mt_end end;
};

/*
 * What is wrong with a trace: a message for its user (what, the byte offset, what to do), one line
 * without a newline. kind distinguishes the cases.
 */
enum mt_trace_fault {
    MT_FAULT_NONE,
    MT_FAULT_SYSTEM,  /* cannot be opened or read; has errno's text */
    MT_FAULT_EMPTY,   /* the file has no bytes */
    MT_FAULT_FOREIGN, /* not a memtap trace */
    MT_FAULT_VERSION, /* written by a newer memtap */
    MT_FAULT_CUT,     /* truncated within a block; everything before it is intact */
    MT_FAULT_DAMAGED, /* a block's checksum or content is wrong: everything before it is intact */
    MT_FAULT_MISSING, /* a block is missing, repeated or of another trace; otherwise as above */
    MT_FAULT_SEGMENT, /* the older segment is missing or incomplete; the rest was read */
    MT_FAULT_TAIL,    /* the tail does not continue where the trace ends; the rest was read */
    MT_FAULT_ROOM,    /* the limit of memory or events is reached; reading stops there */
};

struct mt_trace_error {
    enum mt_trace_fault fault;
    uint64_t offset; /* bytes from the file's beginning */
    char text[320];
};

/* Open a trace. Return 0, or a negative errno with *error filled. Close *out with mt_reader_close.
 */
int mt_reader_open(struct mt_reader **out, const char *path, struct mt_trace_error *error);

/* Return 1 and the next batch in *batch, 0 at the end of the file, or a negative errno with *error
 * filled. A file that ends between two blocks without an MT_BATCH_END is a recording that was not
 * closed; the result is 0. */
int mt_reader_next(struct mt_reader *reader, struct mt_batch *batch, struct mt_trace_error *error);

/* Set the most events in a batch. Some thousand suit a caller that uses them at once; more suit a
 * thread that hands them on. */
void mt_reader_set_batch_size(struct mt_reader *reader, size_t events);

/* Set the most events and definitions that a reader returns from a file, for the whole process. 0,
 * the default: MT_READER_RECORDS, plus MT_READER_RECORDS_A_BYTE for each byte of the file. A small
 * hostile file can expand to any number; in a real recording each event takes half a byte or more
 * for its time alone. */
#define MT_READER_RECORDS (4u << 20)
#define MT_READER_RECORDS_A_BYTE 12u
void mt_reader_limit_records(uint64_t records);

/* Set what the message names as the way to raise that limit: a string that outlives all readers. */
void mt_reader_set_limit_hint(const char *what);

/* Return the end block, found from the file's end; NULL if there is none. The reader owns it. */
const struct mt_end *mt_reader_end(const struct mt_reader *reader);

enum mt_trace_state mt_reader_state(const struct mt_reader *reader);

/* Return whether it is certain that no process writes the trace any more. If not (the process ran
 * on another machine, or its memtap did not record its identity), MT_TRACE_KILLED and MT_TRACE_OPEN
 * only mean that nothing shows a writing process. */
bool mt_reader_is_over(const struct mt_reader *reader);

/* Return the chain of the blocks read so far (model.h). */
struct mt_chain mt_reader_chain(const struct mt_reader *reader);

/* Return the number of valid bytes read from the file so far, without the tail. */
uint64_t mt_reader_offset(const struct mt_reader *reader);

/* Return the file's size in bytes when it was opened. */
uint64_t mt_reader_file_size(const struct mt_reader *reader);

/* Return the file's format version. */
unsigned mt_reader_version(const struct mt_reader *reader);

void mt_reader_close(struct mt_reader *reader);

#endif
