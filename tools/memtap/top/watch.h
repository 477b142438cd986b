/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace that memtap top follows, and its picture. Waits for a missing trace.
 */
#ifndef MT_TOP_H
#define MT_TOP_H

#include <stdbool.h>

#include "analyzer/findings/inspect.h"
#include "analyzer/replay/follow.h"
#include "analyzer/replay/replay.h"

/* Each device's allocated bytes in the last minutes, and the count of allocations. */

#define MT_PAST_STEP_NS 100000000u
#define MT_PAST_STEPS 4096u /* 6.8 minutes */

struct mt_past {
    uint64_t *most[MT_DEVICES]; /* bytes, by step modulo MT_PAST_STEPS; NULL: unused device */
    uint64_t first[MT_DEVICES], last[MT_DEVICES]; /* known steps, last included */
    uint32_t allocations[MT_PAST_STEPS];
    uint64_t last_step; /* of the allocations */
};

/* Follow a replay (struct mt_watcher). A zeroed past is empty. Return 0 or -ENOMEM. */
int mt_past_saw(void *past, const struct mt_replay *replay, const struct mt_event *event);
void mt_past_clear(struct mt_past *past);

/* Fill in n columns, the newest last, with the peak of bytes in each. Return the ns that a column
 * covers; 0: unknown. 60 columns cover at most a minute, less at the start of a run. */
uint64_t mt_past_columns(const struct mt_past *past, unsigned slot, unsigned n, uint64_t *columns);

/* Return the allocations per second over the trace's last seconds. */
double mt_past_rate(const struct mt_past *past);

/* A call site, with its change since the mark. */
struct mt_top_row {
    struct mt_site site;
    int64_t change; /* bytes */
};

/* One device of one trace, after the last event read. */
struct mt_top_picture {
    bool is_there; /* memory was allocated */
    unsigned slot;
    struct mt_inspection live;
    struct mt_top_row *rows; /* the call sites, in the chosen order */
    size_t n_rows;
    uint64_t card, card_free, others; /* bytes of the whole device; card 0: not sampled */
    uint32_t iterations;
    uint64_t growth;      /* growth per iteration in bytes; 0: none, or unknown */
    double iteration_s;   /* mean of the last iterations; 0: unknown */
    double allocations_s; /* per second */
    enum mt_phase phase;
    uint64_t time_ns;   /* of the last event */
    uint64_t silent_ns; /* since then, if long */
    unsigned devices;   /* used devices */
};

enum mt_top_order { MT_TOP_BY_BYTES, MT_TOP_BY_BLOCKS, MT_TOP_BY_CHANGE, MT_TOP_ORDERS };

struct mt_top {
    const char *path;         /* the caller's */
    struct mt_follow *follow; /* NULL: no trace yet */
    struct mt_past past;
    struct mt_watcher watcher;
    struct mt_top_picture picture;
    int device; /* index of the chosen device among the used ones; -1: the fullest */
    enum mt_top_order order;
    struct mt_sites mark; /* reference for changes */
    bool has_mark;
    bool has_news;            /* something was read since the last picture */
    bool is_over, has_failed; /* complete; invalid or unreadable, see fault */
    struct mt_trace_error fault;
    uint32_t n_stacks; /* stacks defined when the frames were last scanned */
    unsigned restarts;
};

/* Start watching a trace, which may not exist yet. */
void mt_top_begin(struct mt_top *watch, const char *path);
void mt_top_end(struct mt_top *watch);

/* Read new events, about a million at most. Return 1 if there may be more, else 0. An error goes to
 * watch->fault. */
int mt_top_read(struct mt_top *watch);

/* Compute the picture. Return 0 or -ENOMEM. */
int mt_top_poll(struct mt_top *watch);

/* Count changes from the last picture. */
void mt_top_mark(struct mt_top *watch);

/* Return the process's number, rank or command, valid while the trace is followed; "": unknown. */
const char *mt_top_info(const struct mt_top *watch, const char *key);
const char *mt_top_rank(const struct mt_top *watch);

#endif
