/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay a trace with all evidence, in one pass. The heaps remember the blocks that were live on
 * each device at the moment; their records gather evidence until they are freed.
 */
#ifndef MT_REPLAY_H
#define MT_REPLAY_H

#include "analyzer/classify/classify.h"
#include "analyzer/classify/tracker.h"
#include "analyzer/holders/holders.h"
#include "analyzer/loops/named.h"
#include "analyzer/loops/trainers.h"
#include "analyzer/model/cuda-level.h"
#include "analyzer/model/cuda-objects.h"
#include "analyzer/model/host.h"
#include "analyzer/model/moment.h"
#include "analyzer/model/spans.h"
#include "analyzer/model/stream-pools.h"
#include "analyzer/query/query.h"
#include "analyzer/trace/definitions.h"
#include "analyzer/trace/survey.h"
#include "analyzer/uses/uses.h"
#include "cuda-pools.h"
#include "filter.h"
#include "places.h"
#include "replay-lives.h"
#include "replay-oom.h"
#include "replay-segments.h"
#include "timeline.h"
#include "unsimulated.h"

/* Sees each event after the replay has handled it. Returns 0 or -ENOMEM. */
struct mt_replay;
struct mt_watcher {
    int (*saw)(void *data, const struct mt_replay *replay, const struct mt_event *event);
    void *data;
};

/* Sees each block at its end, or at the trace's, with the rule that holds for it then. */
struct mt_life_watcher {
    void (*ended)(void *data, const struct mt_replay *replay, const struct mt_block *block,
                  const struct mt_rule *rule, bool at_end);
    void *data;
};

/* A question to a trace. */
struct mt_question {
    struct mt_moment moment;
    const struct mt_user_rules *rules; /* the caller's; NULL: none */
    uint64_t address;                  /* of a block to watch; 0: none */
    enum mt_property by;               /* a report's grouping of blocks */
    struct mt_filter filter;           /* contents of tables */
    bool one_device;                   /* only this one: */
    int device;
    bool whole_run;                      /* places, which takes a little longer */
    bool folds_spans;                    /* the oldest iterations are only summed up (spans.h) */
    bool library_frames;                 /* call sites differ by their whole stack */
    bool no_turns;                       /* iterations are not those of the program's loop */
    bool no_labels;                      /* ignore autograd's labels: stacks and lifetimes only */
    const struct mt_watcher *watcher;    /* the caller's; NULL: none */
    const struct mt_life_watcher *lives; /* likewise */
};

/* Contradictions. A trace that lost nothing should have none. */
struct mt_oddities {
    uint64_t replaced;   /* allocations at a live address */
    uint64_t unknown;    /* frees of memory that was not live */
    uint64_t wrong_size; /* frees with another size than the allocation's */
    uint64_t drift;      /* events after which PyTorch's own total changed by another amount */
};

/* The parts of a replay. Each has one file that writes it, and stands for all devices by slot;
 * those of replay-lives.c, replay-oom.c and replay-segments.c are in their headers. */

/* Totals of one level (replay.c; CUDA's: replay-cuda.c; `at`: replay-lives.c): after the last
 * event, at the peak, and at the moment, which the heaps remember. event 0: nothing had happened
 * yet. */
struct mt_level {
    struct mt_totals now[MT_DEVICES], peak[MT_DEVICES], at[MT_DEVICES];
};

/* The event that is being replayed (replay.c). */
struct mt_present {
    struct mt_thread_state *thread;
    struct mt_thread_state nobody; /* of events that no thread of the program made */
    uint64_t unused;               /* bytes of an alloc's block: not requested */
    bool is_before;                /* a block or a segment from before the recording */
    bool waits;                    /* a free's block does, for other streams */
    uint16_t pool;                 /* of an alloc's block: mt_block_request */
};

struct mt_replay {
    struct mt_question question;
    struct mt_survey survey;
    struct mt_definitions *definitions;
    struct mt_summaries summaries; /* a compact copy's */
    uint64_t events, time_ns;      /* so far; of the last one */
    struct mt_present present;
    struct mt_at_moment at_moment;
    struct mt_level of_torch, of_cuda;
    struct mt_heap blocks; /* PyTorch's */
    struct mt_cuda_level cuda;
    struct mt_tracker tracker;
    /* Of PyTorch's blocks, or of CUDA's if PyTorch's allocator does not use the device. */
    struct mt_spans spans[MT_DEVICES];
    struct mt_visits visits;
    struct mt_named_turns named;
    struct mt_trainers trainers;
    struct mt_turns turns; /* of the program's loop, if they are the iterations */
    struct mt_timeline timeline[MT_DEVICES];
    struct mt_places places[MT_DEVICES]; /* if question.whole_run */
    struct mt_equal_sets gradients;      /* without labels of gradients */
    struct mt_reserve reserved;
    struct mt_ooms ooms;
    struct mt_host host;
    struct mt_cuda_pools cuda_pools;
    struct mt_block_requests of_cuda_blocks; /* by records of the heap of CUDA's */
    struct mt_cuda_objects objects;
    struct mt_samples samples;
    struct mt_holders holders;
    struct mt_uses_of uses_of_blocks, uses_of_cuda;
    struct mt_oddities oddities;
    struct mt_unsimulated unsimulated;
    uint64_t unseen[MT_DEVICES]; /* bytes allocated before the recording began */
    struct mt_watched watched;
    struct mt_rule_memo memo; /* the context's */
    struct mt_rule_context context;
};

/* Replay a whole trace. Return mt_scan's result. Call mt_replay_clear in any case. */
int mt_replay(const char *path, const struct mt_question *question, struct mt_replay *replay,
              struct mt_trace_error *error);
void mt_replay_clear(struct mt_replay *replay);

/* Begin a replay by its parts, for other passes (follow.h): the begin, each batch in order, and the
 * end, after which only mt_replay_clear may follow. `replay`: a struct mt_replay. 0 or -ENOMEM. */
int mt_replay_begin(struct mt_replay *replay, const char *path, const struct mt_question *question);
int mt_replay_batch(void *replay, const struct mt_batch *batch);
int mt_replay_end(struct mt_replay *replay);

/* Return whether the slot's device has CUDA's blocks: PyTorch's allocator does not use it. */
static inline bool mt_replay_is_of_cuda(const struct mt_replay *replay, unsigned slot)
{
    return !replay->of_torch.now[slot].event;
}

/* Return the last time that memory ran out; NULL: it never did. */
static inline const struct mt_oom *mt_replay_last_oom(const struct mt_replay *replay)
{
    return replay->ooms.n ? &replay->ooms.kept[(replay->ooms.n - 1) % MT_OOMS_KEPT] : NULL;
}

/* Return whether memory ran out and the program did not go on. */
static inline bool mt_replay_ends_in_oom(const struct mt_replay *replay)
{
    const struct mt_oom *oom = mt_replay_last_oom(replay);
    return oom && !oom->went_on;
}

/* Return the number of the first out-of-memory that is kept. */
static inline uint64_t mt_replay_first_oom(const struct mt_replay *replay)
{
    return replay->ooms.n > MT_OOMS_KEPT ? replay->ooms.n - MT_OOMS_KEPT : 0;
}

/* Return the totals of CUDA's allocations, or of PyTorch's. */
static inline const struct mt_level *mt_replay_level(const struct mt_replay *replay, bool of_cuda)
{
    return of_cuda ? &replay->of_cuda : &replay->of_torch;
}

/* Return what names the blocks' properties. */
static inline struct mt_naming mt_replay_naming(const struct mt_replay *replay)
{
    return (struct mt_naming){replay->definitions, &replay->tracker.ranges, replay->question.rules};
}

/* Return the facts for rules, as far as the trace has been read. */
struct mt_rule_context mt_replay_context(const struct mt_replay *replay);

#endif
