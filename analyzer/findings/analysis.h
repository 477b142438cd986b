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
#include "pins.h"
#include "precision.h"
#include "private-pools.h"

/*
 * A server's memory by what it did (trace-format/meaning/serving.h), and the terms of the budget
 * from which it chose the size of its kv cache.
 */

struct mt_serving_work {
    uint64_t times; /* it began; 0: never */
    uint64_t most, most_time_ns;
};

struct mt_serving_budget {
    bool serves;          /* else the rest is 0 */
    uint64_t weights;     /* what loading the model left */
    uint64_t activations; /* by how much the profile run was higher than what it left */
    uint64_t graphs;      /* the most that segments of captured graphs had */
    uint64_t captures;    /* of graphs */
    uint64_t captured;    /* what the card had less after the last capture than before */
    struct mt_serving_work work[MT_SERVING_COUNT];
};

/*
 * How many tokens have room in the cache of keys and values, as its makers said: the largest of
 * those that are live at the moment.
 */

struct mt_cache_room {
    struct mt_room room; /* tokens 0: nobody said it */
    uint64_t sequences;  /* of the longest length, at once; 0: not known */
    bool is_least;       /* there may be room for more */
};

struct mt_cache_room mt_cache_room_find(const struct mt_rooms *rooms,
                                        const struct mt_verdict *verdicts, size_t n);

/* Find the budget of the slot's device. */
void mt_serving_budget_find(struct mt_serving_budget *budget, const struct mt_replay *replay,
                            unsigned slot);

/*
 * Memory that a program without PyTorch had at the moment and did not use then, as far as copies
 * and sets of memory show it. A trace does not have the kernels' use of memory: the only certain
 * fact is that no copy or set was seen.
 */

enum mt_idle_kind {
    MT_IDLE_NEVER, /* never touched: perhaps not needed */
    MT_IDLE_AFTER, /* last touched before the moment: perhaps freed late */
    MT_IDLE_UNTIL, /* first touched after it: perhaps allocated early */
    MT_IDLE_KINDS,
};

struct mt_idle {
    bool is_known;      /* copies or sets were seen, and all of them were recorded */
    const char *unseen; /* the calls that may have copied without being recorded; NULL: none */
    struct mt_sums kind[MT_IDLE_KINDS];
};

/* Return "never", "written", "after", "until". */
const char *mt_idle_name(enum mt_idle_kind kind);

/* Find idle blocks. moment_ns: the time of the moment on this device. verdicts: on the live blocks.
 * Memory without an address, or that the host can touch, is left out. Return 0 or -ENOMEM. Call
 * mt_idle_clear in any case. */
int mt_idle_find(struct mt_idle *idle, const struct mt_replay *replay, uint64_t moment_ns,
                 const struct mt_verdict *verdicts, size_t n);
void mt_idle_clear(struct mt_idle *idle);

struct mt_device;

/*
 * Memory that was live at the moment and not needed then, as the launches of kernels, copies and
 * fills show it. Known only if uses were recorded, and all work was seen.
 */

enum mt_unneeded_kind {
    MT_UNNEEDED_NEVER,   /* never used */
    MT_UNNEEDED_WRITTEN, /* written by copies and fills, never read */
    MT_UNNEEDED_AFTER,   /* last used before the moment: freed late */
    MT_UNNEEDED_UNTIL,   /* first used after it, by another line: allocated early */
    MT_UNNEEDED_BETWEEN, /* within the longest time between two uses, by two lines: a
                          * quarter of an iteration or more */
    MT_UNNEEDED_PERHAPS, /* last used before the moment, but the run did not finish, so it is not
                          * known; does not count in bytes */
    MT_UNNEEDED_KINDS,
};

#define MT_UNNEEDED_HELD 3u

struct mt_unneeded {
    bool is_known, is_unseen; /* is_unseen: not all work was seen, so nothing is known */
    /* The run was cut at the moment or later: of what is live then, only what was used last before
     * a time is known not to be needed. */
    bool is_cut;
    uint64_t quiet_ns;
    uint64_t bytes;
    /* Apart, in bytes: last used before the peak, but by its own line and in its iteration, so that
     * no statement can come between; kernels may have used them by addresses in memory; the
     * recording ended before their uses were written. */
    uint64_t of_own_line, passed, unknown;
    uint64_t to_come; /* likewise: of the model, of its activations or not used yet, where the run
                       * did not finish: uses may have followed */
    /* Of what was last used before the moment: what could have held a block of equal size that was
     * first used later. By key: the lines of both allocations. */
    struct mt_sums shared;
    /* By key: the line of the allocation, that of the last use (of UNTIL the first; of BETWEEN the
     * last before the moment), whether that was in backward. Lines are stacks, 0: none. */
    struct mt_sums kind[MT_UNNEEDED_KINDS];
    struct mt_held_most held[MT_UNNEEDED_KINDS][MT_UNNEEDED_HELD]; /* of the first sums of AFTER and
                                                                    * of PERHAPS; else empty */
    uint8_t *of; /* by verdict of the device: its kind */
};

/* Return "never", "after", "until", "between", "perhaps". */
const char *mt_unneeded_name(enum mt_unneeded_kind kind);

/* Find it among a device's live blocks. Return 0 or -ENOMEM. Call mt_unneeded_clear in any case. */
int mt_unneeded_find(struct mt_unneeded *unneeded, const struct mt_replay *replay,
                     const struct mt_device *device);
void mt_unneeded_clear(struct mt_unneeded *unneeded);

/* Return the kind under which a live block of the device counts there; MT_UNNEEDED_KINDS: none. */
enum mt_unneeded_kind mt_unneeded_kind_of(const struct mt_device *device,
                                          const struct mt_block *block);

/*
 * The same at any moment.
 */

/* What of a device's run decides it. is_known: uses were recorded and all work was seen. */
struct mt_unneeded_run {
    bool is_known, is_cut; /* is_cut, quiet_ns: as above */
    uint64_t quiet_ns, least_pause_ns;
    const struct mt_definitions *definitions;
};
struct mt_unneeded_run mt_unneeded_run_of(const struct mt_replay *replay,
                                          const struct mt_spans *spans);

/* A time between two others in which a block is not needed if it is live; the use to name. */
struct mt_unneeded_time {
    enum mt_unneeded_kind kind;
    uint64_t from_ns, to_ns;
    const struct mt_use_point *use; /* NULL: none */
};
#define MT_UNNEEDED_TIMES 3u

/* Find a block's times by its uses and the stack of its allocation. Return their count. They count
 * at a moment unless its uses are not known up to then (known_ns), their address was passed, or
 * mt_unneeded_may_be_used; AFTER does not at an allocation by the line of the last use in the
 * block's own iteration. */
unsigned mt_unneeded_times(const struct mt_unneeded_run *run, const struct mt_block_uses *uses,
                           uint32_t stack, struct mt_unneeded_time out[MT_UNNEEDED_TIMES]);

/* Return whether uses could follow a time of this kind, since the run was cut. */
bool mt_unneeded_may_be_used(const struct mt_unneeded_run *run, enum mt_unneeded_kind kind,
                             const struct mt_block_uses *uses, uint64_t made_ns);

/* Return whether such blocks are judged: work uses workspaces without being recorded. */
bool mt_unneeded_is_judged(enum mt_category category, uint64_t evidence);

/* Return whether a block that an event allocated is of a moment's iteration; where none is counted,
 * of its span. span: that of the moment, of spans; or NULL. moment: an event. */
bool mt_unneeded_is_of_iteration(const struct mt_spans *spans, const struct mt_span *span,
                                 uint64_t event, uint64_t moment);

/* Return what is known of the uses of a live block of the device; NULL: nothing. */
const struct mt_block_uses *mt_device_uses(const struct mt_replay *replay,
                                           const struct mt_device *device,
                                           const struct mt_block *block);

/*
 * Memory left from iteration to iteration: the lines with blocks from several earlier iterations
 * that are live at the moment.
 */

struct mt_growth_site {
    uint32_t line;               /* the stack of one of them: mt_line_stack */
    enum mt_category category;   /* of all of them */
    enum mt_certainty certainty; /* of the category, for the block where it is least */
    uint32_t iterations;         /* that left blocks */
    uint32_t every; /* iterations from one that left blocks to the next; 0: not always the same */
    uint64_t bytes; /* of these blocks */
    struct mt_held_most held; /* what keeps most of them */
};

struct mt_growth {
    uint64_t per_iteration;      /* bytes; 0: nothing grows */
    struct mt_growth_site *site; /* the largest first */
    size_t n;
    uint32_t before;         /* iterations that may have left the sites' blocks; 0: unknown */
    bool is_likely;          /* there are few iterations: it may grow */
    uint64_t undecided;      /* bytes that the first of only two iterations left for the second, too
                              * few to tell; 0: none, or there are more iterations */
    uint32_t undecided_line; /* stack of the line that made the largest; 0: not known */
    /* Of an evaluation's loop, which lets go of it at its end: its turns; else NULL. */
    struct mt_turns *turns;
};

/* Find growth among a device's blocks at its moment of an iteration; of zeros. In an evaluation, it
 * is what its own turns leave behind for a backward that does not come. 0 or -ENOMEM. Call
 * mt_growth_clear in any case. */
int mt_growth_find(struct mt_growth *growth, const struct mt_device *device,
                   const struct mt_replay *replay);

/* Find in the same way what forwards left behind for later ones, with no backward in between, among
 * the blocks at a moment of a forward. Iterations are forwards then. Finds nothing unless they are
 * many more than ever ran before a backward: pipelines and recurrent networks train like that. */
int mt_growth_find_forwards(struct mt_growth *growth, const struct mt_device *device);

/* Find growth of page-locked host memory, by the iterations of the device (NULL: there is none). 0
 * or -ENOMEM. */
int mt_growth_find_host(struct mt_growth *growth, const struct mt_device *device,
                        const struct mt_replay *replay);
void mt_growth_clear(struct mt_growth *growth);

/*
 * What keeps blocks alive, where the trace has lists of holders.
 */

struct mt_held_block {
    const struct mt_verdict *verdict;
    struct mt_block_held held;
};

/* Find the holders of a device's blocks. 0 or -ENOMEM. */
int mt_held_find(struct mt_device *device, const struct mt_replay *replay, unsigned slot);

/* Return the holders of a block of the device; NULL: none are known. */
const struct mt_block_held *mt_device_held(const struct mt_device *device,
                                           const struct mt_block *block);

/* Build the tree of those of some verdicts whose holders are known; the number of a block is its
 * index in them. 0 or -ENOMEM. Call mt_holder_tree_clear in any case. */
int mt_held_tree(struct mt_holder_tree *tree, const struct mt_device *device,
                 const struct mt_verdict *verdicts, size_t n);

/* What holds blocks only until the program lets go of it. */
enum mt_held_kind {
    MT_HELD_GARBAGE,   /* MT_HOLDER_GARBAGE */
    MT_HELD_TRACEBACK, /* MT_HOLDER_TRACEBACK: of an exception that is being handled */
    MT_HELD_LAST_ERROR,
    MT_HELD_KINDS
};

/* Find what holds most of each of the device's call sites. 0 or -ENOMEM. */
int mt_held_sites(struct mt_device *device, const struct mt_naming *naming);

/* Find what holds most of some blocks. 0 or -ENOMEM. Call mt_held_most_clear in any case. */
int mt_held_most_of(struct mt_held_most *most, const struct mt_device *device,
                    const struct mt_verdict *verdicts, size_t n);
/* Return after how many iterations memory grows, and by how many bytes each time: in a loop around
 * that of the iterations (epochs), several. Else 1, and per_iteration. */
uint32_t mt_growth_rhythm(const struct mt_growth *growth, uint64_t *bytes);

/* Return whether a program may leave or replace such a block in each turn: it is not of the model.
 */
bool mt_may_pass(const struct mt_verdict *verdict);

/* Return the first site with a known line, or the largest; NULL: there is none. */
const struct mt_growth_site *mt_growth_main(const struct mt_growth *growth);

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

/* Apply a filter (filter.h) to a device's blocks, call sites and groups. */

/* Fill in device->shown: the verdicts that pass the filter. 0 or -ENOMEM. */
int mt_filtered_blocks(struct mt_device *device, const struct mt_filter *filter,
                       const struct mt_definitions *definitions);

/* Remove small rows and sort the others. */
void mt_filtered_sites(struct mt_sites *sites, const struct mt_filter *filter,
                       const struct mt_definitions *definitions);
void mt_filtered_groups(struct mt_groups *groups, const struct mt_filter *filter);

/* Return the blocks of device->shown as rows: without small ones, sorted, as many as wanted. The
 * caller frees them. NULL: no memory. */
struct mt_verdict *mt_filtered_rows(const struct mt_device *device, const struct mt_filter *filter,
                                    const struct mt_definitions *definitions, size_t *n);

#endif
