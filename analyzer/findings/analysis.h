/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All data of a report: the replayed trace, and the verdicts on the blocks that were live on each
 * device at the moment.
 */
#ifndef MT_ANALYSIS_H
#define MT_ANALYSIS_H

#include <stdbool.h>

#include "analyzer/classify/classify.h"
#include "analyzer/holders/holder-words.h"
#include "analyzer/model/spans.h"
#include "analyzer/query/sites.h"
#include "analyzer/replay/replay.h"
#include "analyzer/trace/ended.h"
#include "analyzer/trace/survey.h"
#include "balance.h"
#include "cached.h"
#include "filtered.h"
#include "growth.h"
#include "held.h"
#include "idle.h"
#include "pins.h"
#include "precision.h"
#include "private-pools.h"
#include "serving.h"
#include "unneeded.h"

struct mt_share {
    uint64_t bytes, blocks;
};

/* Allocations from one stack that are live at the moment, each larger than the one before: none of
 * them serves the next request. */
struct mt_rising {
    uint32_t stack, n;    /* n 0: there are none */
    uint64_t least, most; /* bytes of the first and the last */
};

struct mt_device {
    int device;                /* CUDA's index, MT_NO_DEVICE: unknown */
    bool of_cuda;              /* no PyTorch block was seen: blocks are CUDA's */
    bool is_peak;              /* the moment is the peak */
    struct mt_totals at, peak; /* at the moment, and at the peak */
    uint64_t cached;           /* reserved - allocated */
    uint64_t unused;           /* allocated and not requested: sizes are rounded up */
    uint64_t unseen;           /* allocated before the recording began, or while it lost events */
    struct mt_share category[MT_CATEGORY_ROOM];
    struct mt_share *by_rule;    /* indexed like mt_rule_at; NULL: the device was never used */
    struct mt_verdict *verdicts; /* on every block, by address */
    size_t n_verdicts;
    const struct mt_verdict *shown; /* the ones that pass the question's filter */
    size_t n_shown;
    struct mt_verdict *own_shown; /* if they are not all; NULL: they are */
    struct mt_sites sites;
    struct mt_groups groups; /* unless question.by is MT_BY_SITE */
    const struct mt_spans *spans;
    const struct mt_timeline *timeline;
    const struct mt_worst *worst[MT_FREE_KINDS];
    const struct mt_totals *most_reserved; /* when it was most; event 0: nothing was */
    const struct mt_span *span;            /* the moment's */
    const struct mt_span *next;            /* the highest in another phase than that */
    struct mt_growth growth;
    struct mt_growth of_forwards;    /* where memory ran out in forward */
    struct mt_segments segments;     /* PyTorch's; none if of_cuda */
    struct mt_cached cached_by;      /* at the moment; none if of_cuda */
    struct mt_cached most_cached_by; /* at most_reserved */
    struct mt_balance balance;
    struct mt_private_pools private_pools; /* none if of_cuda */
    struct mt_serving_budget serving;
    struct mt_cache_room cache_room;
    struct mt_foreign_pool foreign_pool; /* if of_cuda */
    struct mt_rising rising;             /* if of_cuda: of the line with most bytes */
    struct mt_sums leaks;                /* if of_cuda: live at the end of a complete trace */
    struct mt_idle idle;                 /* the same */
    struct mt_unneeded unneeded;
    struct mt_pins pins; /* in both pools */
    struct mt_precision precision;
    struct mt_held_block *held; /* the blocks with known holders, by address */
    size_t n_held;
    uint64_t held_from_ns, held_until_ns;       /* all blocks at the moment were live; if n_held */
    struct mt_held_most held_by[MT_HELD_KINDS]; /* bytes of all of a kind; the path with most */
    struct mt_rule_context context;             /* the verdicts' */
};

struct mt_analysis {
    struct mt_replay replay;
    struct mt_device *devices; /* devices on which memory was ever allocated, by index */
    size_t n_devices;
    struct mt_sums host; /* live page-locked host memory at the moment */
    struct mt_growth host_growth;
    bool has_no_step;            /* the wanted iteration, or list of holders, is not in the trace */
    struct mt_trace_error fault; /* where the trace becomes invalid; MT_FAULT_NONE: nowhere */
};

/* The moment's relation to device->span, which exists: within its phase; after it, in the program's
 * own code; or in an evaluation that belongs to no iteration. */
enum mt_span_part { MT_PART_IN, MT_PART_AFTER, MT_PART_EVALUATION };
enum mt_span_part mt_device_part(const struct mt_device *device);
extern const char *const mt_part_names[]; /* JSON's */

/* Analyze a trace. Return 0, also if it is only valid up to analysis->fault; otherwise a negative
 * errno and the reason in analysis->fault (empty text: out of memory). Call mt_analysis_destroy in
 * any case. */
int mt_analysis_create(struct mt_analysis *analysis, const char *path,
                       const struct mt_question *question);
void mt_analysis_destroy(struct mt_analysis *analysis);

struct mt_ended mt_analysis_ended(const struct mt_analysis *analysis);

/* Return the device of that index; NULL: no memory was allocated there. */
const struct mt_device *mt_analysis_device(const struct mt_analysis *analysis, int device);

/* Return the device with the highest peak; NULL: no memory was allocated. */
const struct mt_device *mt_analysis_main_device(const struct mt_analysis *analysis);

/* Return a block's age at the device's moment, ns. */
static inline uint64_t mt_block_age(const struct mt_device *device, const struct mt_block *block)
{
    uint64_t made = mt_block_time(block);
    return device->at.time_ns > made ? device->at.time_ns - made : 0;
}

#define MT_NO_HOLDERS "the trace has no holders; memtap run --holders says when they are recorded"

/* Write why the trace does not have the requested moment. NULL: it has. */
#define MT_NO_MOMENT 128
const char *mt_no_moment_text(const struct mt_analysis *analysis, char out[MT_NO_MOMENT]);

#endif
