/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of requests/. */
#ifndef MT_PLANNER_REQUESTS_INSIDE_H
#define MT_PLANNER_REQUESTS_INSIDE_H

#include "analyzer/replay/torch-memory.h"
#include "analyzer/support/grow.h"
#include "gather.h"

/* Most numbers of streams and pools; the last one stands for all further ones. */
enum { MT_GATHER_OTHER_STREAM = UINT16_MAX, MT_GATHER_MOST_POOLS = 4095 };

/* A request's place in the trace, and PyTorch's totals after it. */
struct mt_gather_at {
    uint64_t event, allocated, reserved;
    uint32_t stack, forward;
};

struct mt_gather_thread {
    /* The request for the thread's frees of segments, if they are an empty_cache: index + 1 on the
     * slot's device; 0: none. */
    size_t frees;
    unsigned frees_slot;
};

struct mt_gathered {
    struct mt_requests requests;
    size_t requests_capacity, recorded_capacity;
    struct mt_address_map streams; /* their numbers, by handle */
    unsigned n_pools;              /* that were begun */
    uint64_t others;               /* by the last CUDA call */
    uint64_t library_wanted;       /* a library's failed request since the last one; */
    size_t library_at;             /* its request */
    struct mt_gather_sample {
        struct mt_sample of; /* the device's memory */
        bool may_have_twice; /* CUDA was freeing memory, or allocated some after it */
    } *sample;
    size_t n_samples, samples_capacity;
    struct mt_gather_segment { /* from before the recording */
        uint64_t address, size;
        uint16_t stream, pool;
    } *segment;
    size_t n_segments, segments_capacity;
    struct mt_gather_held { /* blocks from before it */
        uint64_t address, size, requested;
        uint32_t number;
    } *held;
    size_t n_blocks, blocks_capacity;
    uint64_t cuda;    /* bytes of CUDA's now */
    uint32_t freeing; /* a thread whose last event freed some of them; 0: none */
};

struct mt_gathering {
    struct mt_gathered device[MT_DEVICES]; /* by slot */
    struct mt_torch_memory memory;
    struct mt_address_map threads; /* indices + 1 */
    struct mt_gather_thread *thread;
    size_t n_threads, threads_capacity;
    const char **conf; /* settings made by the program, in order */
    size_t n_confs, confs_capacity;
    double own_fraction; /* of the recorded settings; 1: none */
    struct mt_requests *result;
    size_t results_capacity;
};

/* Add a request. 0 or -ENOMEM. */
int mt_gather_add(struct mt_gathered *gathered, const struct mt_gather_at *at,
                  struct mt_request request);

/* Return in *number that of a stream's handle, from 1; 0: the default one. 0 or -ENOMEM. */
int mt_gather_stream(struct mt_gathered *gathered, uint64_t handle, unsigned *number);

/* Note a block from before the recording. 0 or -ENOMEM. */
int mt_gather_block(struct mt_gathered *gathered, const struct mt_torch_block *block);

/* Note a segment, if it is from before the recording; for struct mt_torch_watcher. */
int mt_gather_segment(void *gathering, const struct mt_torch_segment *segment,
                      const struct mt_event *call);

/* Finish at the end of the trace: what PyTorch's allocator had. 0 or -ENOMEM. */
int mt_gather_finish_held(struct mt_gathered *gathered);

/* Note other calls to the allocator: empty_cache, limits, settings. Return 0 or -ENOMEM. */
int mt_gather_other(struct mt_gathering *g, const struct mt_replay *replay,
                    const struct mt_event *event);

/* Finish at the end of the trace: turn limits into fractions of the card. */
void mt_gather_finish_limits(const struct mt_gathering *g, struct mt_requests *requests);

/* Return a pool's number among requests. */
static inline unsigned mt_gather_pool(uint32_t number)
{
    return number < MT_GATHER_MOST_POOLS ? number : MT_GATHER_MOST_POOLS;
}

/* Note an event that may end a thread's frees of segments. 0 or -ENOMEM. */
int mt_gather_frees(struct mt_gathering *g, const struct mt_event *event);

/* Note a freed segment, for struct mt_torch_watcher. */
int mt_gather_given_back(void *gathering, const struct mt_replay *replay,
                         const struct mt_torch_segment *segment, const struct mt_event *event);

/* End the thread's frees of segments, which were an empty_cache, since no request to CUDA followed.
 */
void mt_gather_end_frees(struct mt_gathering *g, struct mt_gather_thread *thread);

#endif
