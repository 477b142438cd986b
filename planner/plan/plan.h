/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recorded run's memory would have been under other settings of PyTorch's allocator, and on
 * other cards: its requests, replayed by the model. Every answer stands on the check: the recorded
 * setting, replayed, against what the trace says after every request.
 */
#ifndef MT_PLAN_H
#define MT_PLAN_H

#include <stdbool.h>

#include "planner/allocator/model.h"
#include "planner/requests/gather.h"

#define MT_PLAN_CONF 160 /* bytes of a setting's text */
#define MT_PLAN_POINTS 48u

/* A card. total 0: not known, and then memory never runs out. */
struct mt_plan_card {
    const char *name;
    uint64_t total; /* bytes */
};

/* One setting on the card. Sizes are bytes. */
struct mt_plan_setting {
    char conf[MT_PLAN_CONF]; /* "": PyTorch's defaults */
    bool is_asked;           /* for by the user; else memtap tries it */
    bool is_recorded;        /* what the run had */
    bool is_async;           /* another allocator, of CUDA's driver: always modelled */
    bool lacks_graphs;       /* and the run has private pools: a graph's memory is not in it */
    bool fits;
    uint64_t peak_reserved; /* on the card; where it does not fit, what an endless card would have
                               needed */
    uint64_t peak_allocated;
    uint64_t most_used;          /* bytes in use at once, PyTorch's and others'; as peak_reserved */
    uint64_t peak_event;         /* when the peak was first reserved: the event's number */
    uint64_t retries;            /* times that the cache had to be emptied to go on */
    struct mt_allocator_oom oom; /* where it does not fit: the first */
    const struct mt_asked_at *oom_at; /* in the trace; NULL: it fits */
    /* Fragmentation over time: of equal parts of the requests up to the last allocation, the most
     * that was reserved and not allocated. */
    uint64_t unused[MT_PLAN_POINTS];
};

/* The recorded setting, replayed: after how many allocations and frees the totals are equal to the
 * byte. */
struct mt_plan_check {
    size_t compared, equal;
    uint64_t ooms;        /* requests that ran out of memory */
    uint64_t most;        /* the most that reserved differs by, bytes */
    uint64_t first_event; /* the first event after which anything differs; 0: nowhere */
};

struct mt_plan {
    const struct mt_asked *asked;
    struct mt_torch_release release;
    bool knows_release; /* else the newest is assumed */
    bool is_exact;      /* every request is known and the check is equal: replayed, else modelled */
    char conf[MT_PLAN_CONF];            /* recorded */
    struct mt_alloc_conf recorded_conf; /* the same, read */
    char conf_problem[320];             /* why it cannot be replayed; "": it can */
    struct mt_plan_card card;           /* that is asked about */
    bool is_other_card;                 /* than the recorded one */
    struct mt_plan_check check;
    struct {
        uint64_t live;    /* the peak of live bytes as they were requested */
        uint64_t packing; /* the least that was found to hold the recorded lives */
    } floor;
    struct mt_plan_setting *setting; /* the best first */
    size_t n;
};

/* What to ask. */
struct mt_plan_question {
    const char *torch;         /* the trace's release, NULL: not known */
    const char *conf;          /* recorded, NULL: none */
    const char *const *wanted; /* the user's settings; none: memtap's own list */
    size_t n_wanted;
    struct mt_plan_card card; /* total 0: the recorded one */
};

/* Replay all. 0; -ENOMEM; or -EINVAL where a wanted setting is wrong: *wrong is its index, and
 * error says why. To be cleared in any case. */
int mt_plan_make(struct mt_plan *plan, const struct mt_asked *asked,
                 const struct mt_plan_question *question, size_t *wrong,
                 struct mt_alloc_conf_error *error);
void mt_plan_clear(struct mt_plan *plan);

/* Return "replayed" or "modelled". */
const char *mt_plan_how(const struct mt_plan *plan, const struct mt_plan_setting *setting);

/* Return the variable that the release reads its settings from. */
const char *mt_plan_variable(const struct mt_plan *plan);

/* Return the setting that the run had. */
const struct mt_plan_setting *mt_plan_recorded(const struct mt_plan *plan);

#endif
