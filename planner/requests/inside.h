/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of requests/ share. */
#ifndef MT_PLANNER_REQUESTS_INSIDE_H
#define MT_PLANNER_REQUESTS_INSIDE_H

#include "analyzer/support/address-map.h"
#include "analyzer/support/grow.h"
#include "gather.h"

/* Numbers of streams, of pools: the last ones stand for all after them. */
enum { MT_GATHER_OTHER_STREAM = UINT16_MAX, MT_GATHER_MOST_POOLS = 4095 };

/* Where in the trace a request is, and PyTorch's totals after it. */
struct mt_gather_at {
    uint64_t event, allocated, reserved;
    uint32_t stack, forward;
};

struct mt_gather_thread {
    int device; /* of its last request_stream */
    /* What CUDA gave it last, which its next alloc may be the first of. */
    uint64_t given, given_bytes;
    uint32_t mapped; /* the last piece since its last alloc: its index, and 1; 0: none */
    /* The request that stands for its frees of segments, if these are an empty_cache: its index,
     * and 1, on the device of that slot. 0: there are none. */
    size_t frees;
    unsigned frees_slot;
};

/* A segment of PyTorch's, or a piece of an expandable one: of a pool (0: none of its own). */
struct mt_gather_segment {
    uint64_t address; /* of a piece */
    uint32_t next;    /* piece that was mapped for the same block: its index, and 1; 0: none */
    unsigned slot, pool;
};

struct mt_asking {
    struct mt_asked asked;
    size_t requests_capacity, recorded_capacity;
    uint32_t next_number, *free_number; /* of blocks */
    size_t n_free, free_capacity;
    struct mt_address_map streams, pools; /* their numbers, by handle */
    unsigned n_pools;                     /* that were begun */
    bool is_released[MT_GATHER_MOST_POOLS +
                     1];      /* by number; the handle of such a pool comes again */
    uint64_t others;          /* as CUDA's calls told last */
    struct mt_sample *sample; /* of the device's memory */
    size_t n_samples, samples_capacity;
};

struct mt_gathering {
    struct mt_asking device[MT_DEVICES]; /* by slot */
    struct mt_address_map live, waiting; /* numbers of blocks, and 1, by address */
    struct mt_address_map threads;       /* indices, and 1 */
    struct mt_gather_thread *thread;
    size_t n_threads, threads_capacity;
    struct mt_address_map segments; /* likewise, by address */
    struct mt_gather_segment *segment;
    size_t n_segments, segments_capacity;
    const char **conf; /* settings that the program made, in its order */
    size_t n_confs, confs_capacity;
    double own_fraction; /* of the recorded settings; 1: none */
    struct mt_asked *result;
    size_t results_capacity;
};

/* Add a request. 0 or -ENOMEM. */
int mt_gather_ask(struct mt_asking *asking, const struct mt_gather_at *at,
                  struct mt_request request);

/* Note what else a program does to the allocator: empty_cache, limits, settings. 0 or -ENOMEM. */
int mt_gather_other(struct mt_gathering *g, const struct mt_replay *replay,
                    const struct mt_event *event);

/* Finish at the trace's end: limits become fractions of the card. */
void mt_gather_finish_limits(const struct mt_gathering *g, struct mt_asked *asked);

/* Note a call of CUDA's that gives or takes memory. 0 or -ENOMEM. */
int mt_gather_cuda(struct mt_gathering *g, struct mt_gather_thread *thread,
                   const struct mt_replay *replay, const struct mt_event *event);

/* Note an alloc of a pool: what CUDA gave the thread just before is a segment of PyTorch's. */
int mt_gather_segment(struct mt_gathering *g, struct mt_gather_thread *thread,
                      const struct mt_event *alloc, unsigned pool);

/* End the thread's frees of segments, which were an empty_cache: it goes on without asking CUDA for
 * memory. */
int mt_gather_end_frees(struct mt_gathering *g, struct mt_gather_thread *thread);

#endif
