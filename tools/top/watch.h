/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace that memtap top follows, and the picture that it draws of it. A trace that is not there yet is
 * waited for.
 */
#ifndef MT_TOP_H
#define MT_TOP_H

#include <stdbool.h>

#include "analyzer/findings/look.h"
#include "analyzer/replay/follow.h"
#include "past.h"

/* A call site, with what it had when the change was counted from. */
struct mt_top_row {
    struct mt_site site;
    int64_t change; /* bytes */
};

/* One device of one trace, as of the last event that was read. */
struct mt_top_picture {
    bool is_there; /* memory was allocated */
    unsigned slot;
    struct mt_look look;
    struct mt_top_row *rows; /* the call sites, in the order that was asked for */
    size_t n_rows;
    uint64_t card, card_free, others; /* bytes of the whole device; card 0: it was not asked */
    uint32_t iterations;
    uint64_t growth;       /* bytes that each iteration leaves; 0: none, or not known */
    double iteration_s;    /* of the last ones, each; 0: not known */
    double allocations_s;  /* a second */
    enum mt_phase phase;
    uint64_t time_ns;      /* of the last event */
    uint64_t silent_ns;    /* since then, where that is long */
    unsigned devices;      /* that are used */
};

enum mt_top_order { MT_TOP_BY_BYTES, MT_TOP_BY_BLOCKS, MT_TOP_BY_CHANGE, MT_TOP_ORDERS };

struct mt_top {
    const char *path; /* the caller's */
    struct mt_follow *follow;  /* NULL: the trace is not there yet */
    struct mt_past past;
    struct mt_watcher watcher;
    struct mt_top_picture picture;
    int device;         /* that was chosen, by its place among those that are used; -1: the fullest */
    enum mt_top_order order;
    struct mt_sites mark; /* what the change is counted from */
    bool has_mark;
    bool has_news;            /* since the picture was taken */
    bool is_over, has_failed; /* no more comes; it is not sound, or cannot be read: why */
    struct mt_trace_error fault;
    uint32_t n_stacks;  /* that the definitions had when they were looked through */
    unsigned restarts;
};

/* Begins to watch a trace that may not be there yet. */
void mt_top_begin(struct mt_top *watch, const char *path);
void mt_top_end(struct mt_top *watch);

/* Reads what is new, some million events at most. 1: there may be more; 0: not now. What fails is in
 * watch->fault. */
int mt_top_read(struct mt_top *watch);

/* Takes the picture. 0 or -ENOMEM. */
int mt_top_look(struct mt_top *watch);

/* Counts the change from the last picture on. */
void mt_top_mark(struct mt_top *watch);

/* The process's number and rank, and its command, which live as long as the trace is followed; "": not known. */
const char *mt_top_info(const struct mt_top *watch, const char *key);
const char *mt_top_rank(const struct mt_top *watch);

#endif
