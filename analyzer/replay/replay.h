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
#include "analyzer/model/cuda-level.h"
#include "analyzer/model/cuda-objects.h"
#include "analyzer/model/host.h"
#include "analyzer/model/moment.h"
#include "analyzer/model/spans.h"
#include "analyzer/model/stream-pools.h"
#include "analyzer/query/query.h"
#include "analyzer/trace/definitions.h"
#include "analyzer/trace/survey.h"
#include "analyzer/turns/named.h"
#include "analyzer/turns/trainers.h"
#include "analyzer/uses/uses.h"
#include "cuda-pools.h"
#include "filter.h"
#include "places.h"
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

struct mt_oom {
    uint64_t time_ns, wanted, allocated, reserved;
    uint64_t limit; /* the most that PyTorch might reserve then; 0: the whole card, or not known */
    uint32_t stack;
    uint32_t node_name, forward_stack; /* of the running backward node: ids; 0: none, unknown */
    int16_t device;
    uint16_t pool;   /* of the request: mt_stream_pools; 0: not known */
    bool of_cuda;    /* a CUDA call failed on a device that PyTorch's allocator does not use, */
    bool of_library; /* or a library's own, outside PyTorch's allocator (mt_library_of) */
    bool went_on;    /* the program caught it: it allocated later */
};

#define MT_OOMS_KEPT 8u

/* A device's own figures of its memory (device_memory). */
struct mt_sample {
    uint64_t time_ns; /* 0: no sample */
    uint64_t total, free, own, others;
    uint64_t cuda_bytes; /* CUDA's allocations then */
    struct mt_cuda_object_counts objects;
};

/* Return the bytes of this process besides CUDA's allocations; other processes' too if NVML does
 * not tell them apart. */
uint64_t mt_sample_besides(const struct mt_sample *sample);

/* Return whether a sample has bytes twice: one that is taken within a call of CUDA, whose event
 * comes later (of a free: before), does. Another sample, taken next to it, has less besides CUDA's
 * allocations, although no context and no module is missing there. */
bool mt_sample_has_bytes_twice(const struct mt_sample *sample, const struct mt_sample *other);

/* Where what was free lay when PyTorch requested more from CUDA although as many bytes were free.
 */
enum mt_free_kind {
    MT_FREE_PIECES, /* on the request's stream and pool, between blocks: fragmentation */
    MT_FREE_WHOLE,  /* there, with segments that hold no block, each too small */
    MT_FREE_OTHERS, /* on other streams and in other pools */
    MT_FREE_KINDS,
};

/* Such a case: the one with the most free bytes. */
struct mt_worst {
    uint64_t times; /* it happened; 0: never */
    uint64_t time_ns, event;
    uint64_t wanted, lay_free, reserved; /* before it */
    uint32_t stack, node_name;           /* the line of the request, as in mt_site */
    uint32_t unlabelled;                 /* its stack if backward nodes are unknown */
};

/* Contradictions. A trace that lost nothing should have none. */
struct mt_oddities {
    uint64_t replaced;   /* allocations at a live address */
    uint64_t unknown;    /* frees of memory that was not live */
    uint64_t wrong_size; /* frees with another size than the allocation's */
    uint64_t drift;      /* events after which PyTorch's own total changed by another amount */
};

/* Segments that were made while graphs were captured, bytes. */
struct mt_graph_memory {
    uint64_t now, most;
    uint64_t lowest;   /* CUDA's total in a server's last turn of capturing, where it was least */
    uint64_t captured; /* added to it since */
    uint8_t turn;      /* mt_when.turn; 0: none yet */
};

/* The parts of a replay. Each has one file that writes it, and stands for all devices by slot. */

/* Totals of one level (replay.c; CUDA's: replay-cuda.c; `at`: replay-lives.c): after the last
 * event, at the peak, and at the moment, which the heaps remember. event 0: nothing had happened
 * yet. */
struct mt_level {
    struct mt_totals now[MT_DEVICES], peak[MT_DEVICES], at[MT_DEVICES];
};

/* Segments that became known as PyTorch's by an event: CUDA's calls, earlier than it. */
struct mt_new_segments {
    struct mt_event *call; /* MT_CUDA_MALLOC, or MT_CUDA_MAP of a piece of an expandable one */
    size_t n, capacity;
    uint64_t event; /* by this one; 0: none yet */
};

/* What PyTorch's allocator reserves (replay-segments.c, replay-oom.c). */
struct mt_reserve {
    uint64_t known[MT_DEVICES]; /* bytes of CUDA's allocations with MT_SAW_SEGMENT */
    uint64_t lacks[MT_DEVICES]; /* bytes reserved beyond these: the trace lacks what shows them */
    struct mt_new_segments new;
    bool has_grown;                    /* CUDA gave memory since a block was last made */
    uint16_t api;                      /* plus 1: the call that segments came by; 0: unknown */
    struct mt_totals most[MT_DEVICES]; /* when it was highest */
    uint64_t limit[MT_DEVICES];        /* the most that it may reserve now; 0: the whole card */
    struct mt_graph_memory graphs[MT_DEVICES];
    struct mt_worst worst[MT_FREE_KINDS][MT_DEVICES];
    struct mt_stream_pools pools;
    struct mt_block_requests of_blocks;   /* by records of the heap of PyTorch's blocks, */
    struct mt_block_requests of_segments; /* of CUDA's, */
    struct mt_block_requests of_pieces;   /* and of mapped pieces */
    struct mt_address_map waiting;        /* freed blocks' sizes / 512, by address */
};

/* The latest times that memory ran out (replay-oom.c). */
struct mt_ooms {
    struct mt_oom kept[MT_OOMS_KEPT];
    uint64_t n;
};

/* Samples of the devices (replay-oom.c). */
struct mt_samples {
    struct mt_sample first[MT_DEVICES], last[MT_DEVICES];
    struct mt_sample at[MT_DEVICES]; /* the nearest to the moment */
    uint8_t awaited[MT_DEVICES];
};

/* The moment as it has passed (replay-lives.c). */
struct mt_at_moment {
    uint64_t event, time_ns; /* except peaks: each device has its own */
    uint64_t device_ns[MT_DEVICES];
    uint64_t communicators[MT_DEVICES]; /* of NCCL */
    bool is_over;    /* not that of an out-of-memory: the last one counts, so it is taken again */
    bool is_awaited; /* it is an event or a time, and has not passed */
};

/* Blocks around question.address (replay-lives.c). */
struct mt_watched {
    struct mt_block_copy last; /* size 0: none */
    uint64_t n;
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

/* Return whether CUDA's allocation may be a segment of PyTorch's allocator, by its call and size.
 * MT_SAW_SEGMENT: it is one. */
bool mt_may_be_segment(const struct mt_replay *replay, const struct mt_block *memory);

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

/*
 * Figures that need all events of a trace: a compact copy has them as lists of numbers (FORMAT.md,
 * "Summary blocks").
 */

typedef int mt_definition_sink(void *data, const struct mt_definition *definition);

/* Gives the number that an event, or the first one after it, has in the copy; 0 for 0. */
struct mt_renumber {
    uint64_t (*number)(void *data, uint64_t event);
    void *data;
};

/* Report each list of a trace that was replayed with whole_run. Return tell's result if it is not
 * 0. */
int mt_whole_list(const struct mt_replay *whole, const struct mt_renumber *renumber,
                  mt_definition_sink *sink, void *data);

/* Put, at the end of a replay of a compact copy, the lists in place of the copy's own figures. 0 or
 * -ENOMEM. */
int mt_whole_take(struct mt_replay *replay);

#endif
