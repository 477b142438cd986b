/* SPDX-License-Identifier: Apache-2.0 */
/* A trace that reader-open.c opened, for reader.c and follow/, which read it. */
#ifndef MT_TRACE_READER_OPEN_H
#define MT_TRACE_READER_OPEN_H

#include "author/author.h"
#include "block.h"
#include "decoder.h"
#include "reader.h"
#include "tail-reader.h"

#include <stdbool.h>
#include <sys/types.h>
#include <zstd.h>

struct mt_buffer {
    void *bytes;
    size_t capacity;
};

/* The previous segment, which is read first. */
struct mt_reader_older {
    uint64_t id;              /* 0: none */
    struct mt_reader *reader; /* NULL: none */
    bool is_read;
    /* USED: or none; ITSELF: the file next to it is this trace */
    enum { OLDER_USED, OLDER_MISSING, OLDER_OTHER, OLDER_CUT, OLDER_ITSELF } state;
};

struct mt_reader_tail {
    struct mt_tail_content content;
    enum { TAIL_FITS, TAIL_OTHER, TAIL_OLD } fit; /* FITS: or there is none */
    enum { TAIL_NONE, TAIL_DEFINITIONS, TAIL_EVENTS, TAIL_OVER } next;
};

struct mt_reader {
    int fd;
    unsigned version;
    uint64_t trace_id; /* 0: none */
    struct mt_reader_older older;
    struct mt_reader *rest;     /* at the blocks that the tail does not count; NULL: none */
    bool skip_carried, is_over; /* is_over: its end block was returned */
    struct mt_author author;    /* zeros: not known */
    enum mt_author_sign sign;
    enum mt_trace_state state;
    struct mt_end end; /* if the state is MT_TRACE_CLOSED */
    struct mt_reader_tail tail;
    uint64_t offset, file_size, header_size; /* bytes */
    ZSTD_DCtx *zstd;
    struct mt_crc crc;
    struct mt_buffer stored;
    struct mt_buffer raw[2];     /* the last two blocks, decompressed, alternating */
    struct mt_buffer records[2]; /* events or definitions of the last two batches, alternating */
    unsigned raw_turn, turn;
    /* the block of the next events */
    struct mt_block_header block;
    struct mt_chain chain; /* up to the offset */
    uint32_t blocks;       /* of the file, by its end block; 0: not known */
    struct mt_event_decoder decoder;
    size_t n_left;     /* its events left to return */
    uint64_t given;    /* of what mt_reader_limit_records counts, up to this block's end */
    size_t batch_size; /* events in a batch, at most */
    bool is_following; /* the file grows (follow/follower.h): it counts up to `limit` */
    uint64_t limit;
};

/* Open one file: like mt_reader_open, but without its state, tail and older segment. */
int mt_reader_open_single(struct mt_reader **out, const char *path, struct mt_trace_error *error);

/* Return whether the author still runs, as far as its tail shows. */
enum mt_author_sign mt_reader_check_author(const struct mt_reader *reader);

/* Read the tail of a trace that is not closed, and from it how the recording ended. Return 0 or a
 * negative errno. */
int mt_reader_read_tail(struct mt_reader *reader, const char *path, struct mt_trace_error *error);

/* Fill *error. Return a negative errno. */
__attribute__((format(printf, 4, 5))) int mt_reader_fail(struct mt_trace_error *error,
                                                         enum mt_trace_fault fault, uint64_t offset,
                                                         const char *format, ...);
/* Fill *error: the last block does not follow the chain; how many events are missing; what is wrong
 * with the older segment or the tail. Return a negative errno. */
int mt_reader_fail_gap(struct mt_reader *reader, struct mt_trace_error *error);
int mt_reader_fail_count(struct mt_reader *reader, struct mt_trace_error *error, uint64_t missing,
                         uint64_t events);
int mt_reader_fail_older(struct mt_reader *reader, struct mt_trace_error *error);
int mt_reader_fail_tail(struct mt_reader *reader, struct mt_trace_error *error);
int mt_reader_no_memory(struct mt_trace_error *error, uint64_t offset);

/* Read up to size bytes; fewer only at the end of the file. Return their number, or -1 with errno.
 */
ssize_t mt_reader_bytes(int fd, void *into, size_t size);

#endif
