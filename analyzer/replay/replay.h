/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay a trace with all evidence, in one pass. The heaps remember the blocks that were live on
 * each device at the moment; their records gather evidence until they are freed.
 */
#ifndef MT_REPLAY_H
#define MT_REPLAY_H

#include "analyzer/classify/classify.h"
#include "analyzer/classify/tracker.h"
#include "analyzer/model/cuda-level.h"
#include "analyzer/model/cuda-objects.h"
#include "analyzer/model/host.h"
#include "analyzer/model/moment.h"
#include "analyzer/model/spans.h"
#include "analyzer/trace/definitions.h"
#include "analyzer/trace/survey.h"
#include "analyzer/views/groups.h"
#include "filter.h"
#include "places.h"
#include "timeline.h"
#include "uncomputed.h"

/* Sees each event after the replay has handled it. Returns 0 or -ENOMEM. */
struct mt_replay;
struct mt_watcher {
    int (*saw)(void *data, const struct mt_replay *replay, const struct mt_event *event);
    void *data;
};

/* Sees each block at its end, or at the trace's, with the rule that holds for it then. */
struct mt_life_watcher {
    void (*ended)(void *data, const struct mt_replay *replay, const struct mt_block *block,
                  const struct mt_rule *rule, int at_end);
    void *data;
};

/* A question to a trace. */
struct mt_question {
    struct mt_moment moment;
    const struct mt_user_rules *rules;   /* the caller's; NULL: none */
    uint64_t address;                    /* of a block to watch; 0: none */
    enum mt_property by;                 /* a report's grouping of blocks */
    struct mt_filter filter;             /* contents of tables */
    int one_device, device;              /* only this one, if one_device is set */
    int whole_run;                       /* places, which takes a little longer */
    int no_labels;                       /* ignore autograd's labels: stacks and lifetimes only */
    const struct mt_watcher *watcher;    /* the caller's; NULL: none */
    const struct mt_life_watcher *lives; /* likewise */
};

struct mt_oom {
    uint64_t time_ns, wanted, allocated, reserved;
    uint64_t limit; /* the most that PyTorch might reserve then; 0: the whole card, or not known */
    uint32_t stack;
    uint32_t node_name, forward_stack; /* of the running backward node: ids; 0: none, unknown */
    int16_t device;
    int of_cuda; /* a CUDA call failed on a device that PyTorch's allocator does not use */
    int went_on; /* the program caught it: it allocated later */
};

#define MT_OOMS_KEPT 8u

/* A device's own figures of its memory (device_memory). */
struct mt_sample {
    uint64_t time_ns; /* 0: no sample */
    uint64_t total, free, own, others;
    uint64_t cuda_bytes; /* CUDA's allocations then */
    struct mt_cuda_object_counts objects;
};

/* Bytes of this process besides CUDA's allocations; other processes' too if NVML does not tell them
 * apart. */
uint64_t mt_sample_besides(const struct mt_sample *sample);

/* A sample that is taken within a call of CUDA, whose event comes later (of a free: before), has
 * its bytes twice: another sample, taken next to it, has less besides CUDA's allocations, although
 * no context and no module is missing there. */
bool mt_sample_has_bytes_twice(const struct mt_sample *sample, const struct mt_sample *other);

/* PyTorch requested memory from CUDA although as many bytes were free in its pools: the case with
 * the most free bytes. */
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
};

struct mt_replay {
    struct mt_question question;
    struct mt_survey survey;
    struct mt_definitions *definitions;
    struct mt_summaries summaries; /* a compact copy's */
    struct mt_heap blocks;         /* PyTorch's */
    struct mt_cuda_level cuda;
    struct mt_tracker tracker;
    struct mt_totals now[MT_DEVICES];      /* PyTorch's, after the last event */
    struct mt_totals cuda_now[MT_DEVICES]; /* CUDA's */
    struct mt_totals peak[MT_DEVICES], cuda_peak[MT_DEVICES];
    /* At the moment, which the heaps remember. event 0: nothing had happened yet. */
    struct mt_totals at[MT_DEVICES], cuda_at[MT_DEVICES];
    /* Of PyTorch's blocks, or of CUDA's if PyTorch's allocator does not use the device. */
    struct mt_spans spans[MT_DEVICES];
    struct mt_timeline timeline[MT_DEVICES];
    struct mt_places places[MT_DEVICES]; /* if question.whole_run */
    struct mt_equal_sets gradients;      /* without labels of gradients */
    uint64_t most_reserved[MT_DEVICES];
    struct mt_graph_memory graphs[MT_DEVICES];
    uint64_t limit[MT_DEVICES]; /* the most that PyTorch may reserve now; 0: the whole card */
    struct mt_worst worst[MT_DEVICES];
    struct mt_oom ooms[MT_OOMS_KEPT]; /* the latest */
    uint64_t n_ooms;
    struct mt_host host;
    struct mt_cuda_objects objects;
    struct mt_sample first_sample[MT_DEVICES];
    struct mt_sample sample[MT_DEVICES];    /* the last one */
    struct mt_sample sample_at[MT_DEVICES]; /* the nearest to the moment */
    struct mt_oddities oddities;
    struct mt_uncomputed uncomputed;
    uint64_t unseen[MT_DEVICES];   /* bytes allocated before the recording began */
    uint64_t at_event, at_time_ns; /* the moment, except peaks: each device has its own */
    struct mt_block_copy watched;  /* the last block around question.address; size 0: none */
    uint64_t n_watched;
    /* the pass's own */
    uint64_t events;                /* so far */
    uint64_t time_ns;               /* of the last one */
    struct mt_thread_state *thread; /* the present event's */
    struct mt_thread_state nobody;  /* of events that no thread of the program made */
    uint64_t unused;                /* bytes of the present alloc's block: not requested */
    bool waits;                     /* the present free's block does, for other streams */
    struct mt_rule_memo memo;       /* the context's */
    struct mt_rule_context context;
    int taken;         /* the moment has passed */
    int awaits_moment; /* it is an event or a time, and has not passed */
    uint8_t awaits_sample[MT_DEVICES];
    uint64_t taken_ns[MT_DEVICES]; /* time of the device's moment */
};

/* Replay a whole trace. Return mt_scan's result. Call mt_replay_clear in any case. */
int mt_replay(const char *path, const struct mt_question *question, struct mt_replay *replay,
              struct mt_trace_error *error);
void mt_replay_clear(struct mt_replay *replay);

/* Its parts, for other passes (follow.h): the begin, each batch in order, and the end, after which
 * only mt_replay_clear may follow. `replay`: a struct mt_replay. 0 or -ENOMEM. */
int mt_replay_begin(struct mt_replay *replay, const char *path, const struct mt_question *question);
int mt_replay_batch(void *replay, const struct mt_batch *batch);
int mt_replay_end(struct mt_replay *replay);

/* Return what names the blocks' properties. */
static inline struct mt_naming mt_replay_naming(const struct mt_replay *replay)
{
    return (struct mt_naming){replay->definitions, &replay->tracker.ranges, replay->question.rules};
}

/* Return the facts for rules, as far as the trace has been read. */
struct mt_rule_context mt_replay_context(const struct mt_replay *replay);

#endif
