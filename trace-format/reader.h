/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a trace file, block by block, in file order, and then its tail, if the recording was not
 * closed. An older segment beside it comes first. Events come in time order, except for a bounded
 * disorder between threads. A reader belongs to one thread at a time.
 */
#ifndef MT_TRACE_READER_H
#define MT_TRACE_READER_H

#include <stdbool.h>

#include "model.h"

struct mt_reader;

/* How a recording ended, as far as can be seen when its trace is opened. */
enum mt_trace_state {
    MT_TRACE_CLOSED,  /* properly: it says so itself */
    MT_TRACE_RUNNING, /* not yet */
    MT_TRACE_KILLED,  /* in the middle; its tail has the rest, up to the last event */
    MT_TRACE_OPEN,    /* in the middle, without a tail: the last moments may be missing */
    /* These have info records, stopped and executed; the tail has the rest, up to that moment. */
    MT_TRACE_STOPPED,  /* it could not be written any further; the program continued */
    MT_TRACE_EXECUTED, /* the process replaced itself by another program */
    MT_TRACE_STATES
};

/* "closed" and so on. */
extern const char *const mt_trace_state_names[MT_TRACE_STATES];

enum mt_batch_type { MT_BATCH_DEFINITIONS, MT_BATCH_EVENTS, MT_BATCH_END };

/* Records of one block: all of them, or some thousand events. The arrays and their texts belong to
 * the reader. They outlive the next call of mt_reader_next, but not the one after it, so that a
 * caller can be one batch ahead. */
struct mt_batch {
    enum mt_batch_type type;
    enum mt_trace_state state; /* of the trace */
    bool is_tail;              /* the batch is in the file's tail */
    bool is_older;             /* the batch is in the older segment */
    bool is_carried;           /* events in place of a missing older segment */
    unsigned version;          /* of the file's format; 0: not known */
    uint64_t offset;           /* of the block, bytes from the file's beginning */
    uint64_t file_size;        /* of the file that it is in, bytes */
    const struct mt_definition *definitions;
    size_t n_definitions;
    const struct mt_event *events;
    size_t n_events;
    struct mt_end end;
};

/*
 * What is wrong with a trace, in words for its user: what, where (byte offset) and what to do, one
 * line without a newline. kind tells the cases apart.
 */
enum mt_trace_fault {
    MT_FAULT_NONE,
    MT_FAULT_SYSTEM,  /* cannot be opened or read: errno's text */
    MT_FAULT_EMPTY,   /* the file has no bytes */
    MT_FAULT_FOREIGN, /* not a memtap trace */
    MT_FAULT_VERSION, /* written by a newer memtap */
    MT_FAULT_CUT,     /* ends in the middle of a block: everything before is sound */
    MT_FAULT_DAMAGED, /* a block's checksum or content is wrong: everything before is sound */
    MT_FAULT_MISSING, /* a block is missing, repeated or of another trace: as MT_FAULT_DAMAGED */
    MT_FAULT_SEGMENT, /* the older segment is missing or lacks its end; everything else was read */
    MT_FAULT_TAIL,    /* the tail beside it does not go on where the trace ends; likewise */
    MT_FAULT_ROOM,    /* all the memory or all the events allowed are used: it stops there */
};

struct mt_trace_error {
    enum mt_trace_fault fault;
    uint64_t offset; /* bytes from the file's beginning */
    char text[320];
};

/* Open a trace: 0, or a negative errno with *error filled. Close *out with mt_reader_close. */
int mt_reader_open(struct mt_reader **out, const char *path, struct mt_trace_error *error);

/* Return 1 and the next batch in *batch, 0 at the end of the file, or a negative errno with *error
 * filled. A file that stops between two blocks without a MT_BATCH_END ends with 0: its recording
 * was not closed, and nothing else is wrong with it. */
int mt_reader_next(struct mt_reader *reader, struct mt_batch *batch, struct mt_trace_error *error);

/* Set the most events of a batch. Some thousand fit a caller that reads and uses them in turn; more
 * are for a thread that hands them over. */
void mt_reader_give_at_once(struct mt_reader *reader, size_t events);

/* Set the most events and definitions that a reader gives of a file, for the whole process. 0, as
 * at first: MT_READER_RECORDS, and MT_READER_RECORDS_A_BYTE for each byte of the file. A small file
 * may stand for any number of them, but no recording does: each event has a time of its own, which
 * takes half a byte or more. */
#define MT_READER_RECORDS (4u << 20)
#define MT_READER_RECORDS_A_BYTE 12u
void mt_reader_most_records(uint64_t records);

/* Set what a message says that allows more of them: a constant. */
void mt_reader_raised_by(const char *what);

/* Return the end block, found from the file's end; NULL: there is none. It belongs to the reader.
 */
const struct mt_end *mt_reader_end(const struct mt_reader *reader);

enum mt_trace_state mt_reader_state(const struct mt_reader *reader);

/* Return whether it is certain that no process writes the trace any more. If it is not (the process
 * ran on another machine, or its memtap did not record the process), MT_TRACE_KILLED and
 * MT_TRACE_OPEN mean that there is no sign of a writing process. */
bool mt_reader_is_over(const struct mt_reader *reader);

/* Return the chain of the blocks that were read so far (model.h). */
struct mt_chain mt_reader_chain(const struct mt_reader *reader);

/* Return how many valid bytes of the file were read so far; the tail does not count. */
uint64_t mt_reader_offset(const struct mt_reader *reader);

/* Return the file's size in bytes when it was opened. */
uint64_t mt_reader_file_size(const struct mt_reader *reader);

/* Return the file's format version. */
unsigned mt_reader_version(const struct mt_reader *reader);

void mt_reader_close(struct mt_reader *reader);

#endif
