/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded run's memory under other settings of PyTorch's allocator and on other cards, by
 * replaying its requests in the model. Every answer rests on the check: the replay of the recorded
 * setting is compared with the trace after each request.
 */
#ifndef MT_PLAN_H
#define MT_PLAN_H

#include <stdbool.h>

#include "planner/allocator/model.h"
#include "planner/requests/gather.h"

#define MT_PLAN_CONF 160 /* bytes of a setting's text */
#define MT_PLAN_POINTS 48u

/* A card. total 0: unknown; memory then never runs out. */
struct mt_plan_card {
    const char *name;
    uint64_t total; /* bytes */
};

/* One setting on the card. Sizes are bytes. */
struct mt_plan_setting {
    char conf[MT_PLAN_CONF]; /* "": PyTorch's defaults */
    bool is_requested;       /* requested by the user, not from memtap's list */
    bool is_recorded;        /* what the run had */
    bool is_async;           /* CUDA's driver allocates: always modelled */
    bool lacks_graphs;       /* and the run has private pools: graphs' memory is missing */
    bool fits;
    uint64_t peak_reserved; /* on the card; if it does not fit, on an unlimited card */
    uint64_t peak_allocated;
    uint64_t most_used;          /* peak use of the card, including others; as peak_reserved */
    uint64_t peak_event;         /* when the peak was first reserved: the event's number */
    uint64_t retries;            /* times that the cache had to be emptied */
    struct mt_allocator_oom oom; /* if it does not fit: the first failure */
    const struct mt_request_totals *oom_at; /* in the trace; NULL: it fits */
    /* Fragmentation over time: peak of reserved minus allocated memory in equal parts of the
     * requests up to the last allocation. */
    uint64_t unused[MT_PLAN_POINTS];
};

/* The replay of the recorded setting: after how many allocations and frees the totals match to the
 * byte. */
struct mt_plan_check {
    size_t compared, equal;
    uint64_t ooms;        /* requests that ran out of memory */
    uint64_t most;        /* largest difference of reserved bytes */
    uint64_t first_event; /* the first event with a difference; 0: none */
};

struct mt_plan {
    const struct mt_requests *requests;
    struct mt_torch_release release;
    bool knows_release; /* else the newest is assumed */
    bool is_exact;      /* all requests are known and the check matches: replayed, else modelled */
    char conf[MT_PLAN_CONF];            /* recorded */
    struct mt_alloc_conf recorded_conf; /* the same, parsed */
    char conf_problem[320];             /* why it cannot be replayed; "": it can be */
    struct mt_plan_card card;           /* the card in question */
    bool is_other_card;                 /* differs from the recorded one */
    struct mt_plan_check check;
    struct {
        uint64_t live;    /* peak of live requested bytes */
        uint64_t packing; /* smallest known packing of the recorded lifetimes */
    } floor;
    struct mt_plan_setting *setting; /* the best first */
    size_t n;
};

/* A query. */
struct mt_plan_question {
    const char *torch;         /* the trace's release; NULL: unknown */
    const char *conf;          /* recorded, NULL: none */
    const char *const *wanted; /* the user's settings; if none, memtap's list */
    size_t n_wanted;
    struct mt_plan_card card; /* total 0: the recorded one */
};

/* Replay all settings. Return 0, -ENOMEM, or -EINVAL if a requested setting is invalid: *wrong is
 * its index, and error has the reason. Clear the plan in any case. */
int mt_plan_make(struct mt_plan *plan, const struct mt_requests *requests,
                 const struct mt_plan_question *question, size_t *wrong,
                 struct mt_alloc_conf_error *error);
void mt_plan_clear(struct mt_plan *plan);

/* Return "replayed" or "modelled". */
const char *mt_plan_how(const struct mt_plan *plan, const struct mt_plan_setting *setting);

/* Return the variable from which the release reads its settings. */
const char *mt_plan_variable(const struct mt_plan *plan);

/* Return the recorded setting. */
const struct mt_plan_setting *mt_plan_recorded(const struct mt_plan *plan);

/* Return the plan of the device with the highest peak. */
const struct mt_plan *mt_plan_main(const struct mt_plan *plans, size_t n);

/* Return whether some setting fits on every device. */
bool mt_plan_fits(const struct mt_plan *plans, size_t n);

#endif
