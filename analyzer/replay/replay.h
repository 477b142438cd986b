/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays a trace with all evidence, in one pass. The heaps remember what was live on each device
 * at the moment in question; the records of those blocks go on gathering evidence until they are
 * freed.
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
#include "filter.h"
#include "groups.h"
#include "places.h"
#include "timeline.h"

/* Sees each event after it has been taken into account. Returns 0 or -ENOMEM. */
struct mt_replay;
struct mt_watcher {
    int (*saw)(void *data, const struct mt_replay *replay, const struct mt_event *event);
    void *data;
};

/* Sees each block when it ends, or the trace does, with the rule that holds for it then. */
struct mt_life_watcher {
    void (*ended)(void *data, const struct mt_replay *replay, const struct mt_block *block,
                  const struct mt_rule *rule, int at_end);
    void *data;
};

/* What is asked of a trace. */
struct mt_question {
    struct mt_moment moment;
    const struct mt_user_rules *rules; /* the caller's; NULL: none */
    uint64_t address;                  /* of a block to watch; 0: none */
    enum mt_group_by by;               /* what a report puts blocks together by */
    struct mt_filter filter;           /* what tables show */
    int one_device, device;            /* only this one, where one_device is set */
    int whole_run;                     /* places, which takes a little longer */
    int no_labels;                    /* do without what autograd says: stacks and lifetimes only */
    const struct mt_watcher *watcher; /* the caller's; NULL: none */
    const struct mt_life_watcher *lives; /* likewise */
};

struct mt_oom {
    uint64_t time_ns, wanted, allocated, reserved;
    uint32_t stack;
    uint32_t node_name, forward_stack; /* of the backward node that ran: ids; 0: none, not known */
    int16_t device;
    int of_cuda; /* a CUDA call failed, on a device that PyTorch's allocator does not use */
    int went_on; /* the program caught it: it allocated later */
};

#define MT_OOMS_KEPT 8u

/* What a device said of its memory (device_memory). */
struct mt_sample {
    uint64_t time_ns; /* 0: it was not asked */
    uint64_t total, free, own, others;
    uint64_t cuda_bytes; /* what CUDA had handed out then */
    struct mt_cuda_object_counts objects;
};

/* PyTorch asked CUDA for more though as many bytes lay free in its pools: the time when the most
 * did. */
struct mt_worst {
    uint64_t times; /* that it happened; 0: never */
    uint64_t time_ns, event;
    uint64_t wanted, lay_free, reserved; /* before it */
    uint32_t stack, node_name;           /* the line of the request, as in mt_site */
    uint32_t unlabelled;                 /* its stack when nothing is known of backward nodes */
};

/* What did not fit together. None of it is expected in a trace that lost nothing. */
struct mt_oddities {
    uint64_t replaced;   /* allocations at an address that was live */
    uint64_t unknown;    /* frees of what was not live */
    uint64_t wrong_size; /* frees with another size than the allocation's */
    uint64_t drift;      /* events after which PyTorch's own total moved by something else */
};

struct mt_replay {
    struct mt_question question;
    struct mt_survey survey;
    struct mt_definitions *definitions;
    struct mt_summaries summaries; /* of a compact copy */
    struct mt_heap blocks; /* PyTorch's */
    struct mt_cuda_level cuda;
    struct mt_tracker tracker;
    struct mt_totals now[MT_DEVICES];      /* PyTorch's, after the last event */
    struct mt_totals cuda_now[MT_DEVICES]; /* CUDA's */
    struct mt_totals peak[MT_DEVICES], cuda_peak[MT_DEVICES];
    /* At the moment in question, which the heaps remember. event 0: nothing had happened yet. */
    struct mt_totals at[MT_DEVICES], cuda_at[MT_DEVICES];
    /* Of PyTorch's blocks, or of CUDA's where PyTorch's allocator does not use the device. */
    struct mt_spans spans[MT_DEVICES];
    struct mt_timeline timeline[MT_DEVICES];
    struct mt_places places[MT_DEVICES]; /* of question.whole_run */
    struct mt_equal_sets gradients;      /* where no labels tell of them */
    uint64_t most_reserved[MT_DEVICES];
    struct mt_worst worst[MT_DEVICES];
    struct mt_oom ooms[MT_OOMS_KEPT]; /* the latest */
    uint64_t n_ooms;
    struct mt_host host;
    struct mt_cuda_objects objects;
    struct mt_sample first_sample[MT_DEVICES];
    struct mt_sample sample[MT_DEVICES];    /* the last one */
    struct mt_sample sample_at[MT_DEVICES]; /* the nearest to the moment */
    struct mt_oddities oddities;
    uint64_t unseen[MT_DEVICES];   /* bytes that were allocated before the recording began */
    uint64_t at_event, at_time_ns; /* when the moment was, but for peaks: each device has its own */
    struct mt_block_copy watched;  /* the last one that held question.address; size 0: none did */
    uint64_t n_watched;
    /* the pass's own */
    uint64_t events;                /* so far */
    uint64_t time_ns;               /* of the last one */
    struct mt_thread_state *thread; /* of the one that is looked at */
    struct mt_rule_context context;
    int taken;         /* the moment has passed */
    int awaits_moment; /* of an event or a time, and it has not */
    uint8_t awaits_sample[MT_DEVICES];
    uint64_t taken_ns[MT_DEVICES]; /* when the device's moment was */
};

/* Replays a whole trace. Returns as mt_scan does; to be cleared in any case. */
int mt_replay(const char *path, const struct mt_question *question, struct mt_replay *replay,
              struct mt_trace_error *error);
void mt_replay_clear(struct mt_replay *replay);

/* The pieces of it, for other passes (follow.h): its begin, each batch in order, and the end, after which
 * there is nothing but mt_replay_clear. `replay`: a struct mt_replay. 0 or -ENOMEM. */
int mt_replay_begin(struct mt_replay *replay, const char *path, const struct mt_question *question);
int mt_replay_batch(void *replay, const struct mt_batch *batch);
int mt_replay_end(struct mt_replay *replay);

/* What the rules may look at, as far as the trace has been read. */
struct mt_rule_context mt_replay_context(const struct mt_replay *replay);

#endif
