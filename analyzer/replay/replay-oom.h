/* SPDX-License-Identifier: Apache-2.0 */
/* The times that memory ran out, and samples of the devices' memory. */
#ifndef MT_REPLAY_OOM_H
#define MT_REPLAY_OOM_H

#include "analyzer/model/cuda-objects.h"
#include "analyzer/model/heap.h"

struct mt_replay;

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

/* The latest times that memory ran out. */
struct mt_ooms {
    struct mt_oom kept[MT_OOMS_KEPT];
    uint64_t n;
};

/* Samples of the devices. */
struct mt_samples {
    struct mt_sample first[MT_DEVICES], last[MT_DEVICES];
    struct mt_sample at[MT_DEVICES]; /* the nearest to the moment */
    uint8_t awaited[MT_DEVICES];
};

/* Handle an out-of-memory of PyTorch (0 or -ENOMEM); handle a sample of a device's memory. */
int mt_replay_oom(struct mt_replay *replay, const struct mt_event *event);
void mt_replay_sample(struct mt_replay *replay, const struct mt_event *event);

/* Note an out-of-memory. */
void mt_replay_add_oom(struct mt_replay *replay, const struct mt_oom *oom);

/* Note that memory ran out in a library's own call, outside PyTorch's allocator. 0 or -ENOMEM. */
int mt_replay_library_oom(struct mt_replay *replay, const struct mt_event *event);

/* Note that the program allocated after memory ran out. */
static inline void mt_ooms_went_on(struct mt_ooms *ooms)
{
    if (ooms->n)
        ooms->kept[(ooms->n - 1) % MT_OOMS_KEPT].went_on = true;
}

#endif
