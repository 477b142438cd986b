/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contents of PyTorch's allocator on all devices, maintained event by event: its blocks, and
 * its segments from CUDA. The owner calls mt_torch_memory_event with each event of a replay; the
 * watcher is called with each change.
 */
#ifndef MT_TORCH_MEMORY_H
#define MT_TORCH_MEMORY_H

#include "analyzer/support/address-map.h"
#include "replay.h"

/* A block, from its request until its memory may be reused. */
struct mt_torch_block {
    uint64_t address, size;
    uint64_t unused;       /* bytes that were not requested */
    uint64_t event;        /* its request's number in the trace; 0: before the trace, or unknown */
    uint64_t stream, pool; /* handles, as struct mt_request_stream */
    uint32_t pool_number;  /* by order of appearance on the device, from 1; 0: none */
    uint32_t number;       /* as small as possible; reused after this block */
    uint32_t stack;
    uint16_t slot;
    bool waits; /* freed, and waits for other streams */
    bool mark;  /* the watcher's own */
};

struct mt_torch_segment {
    uint64_t address, size, stream, pool;
    uint32_t pool_number, stack;
    uint16_t slot;
    bool is_expandable; /* a piece of one, or several adjacent ones that are freed together */
    bool is_before;     /* from before the recording */
    bool ends_pool; /* on release: its pool was already released, and the handle may be reused */
};

/* Each is called before the ended block or segment is removed, and returns 0 or -ENOMEM. */
struct mt_torch_watcher {
    int (*allocated)(void *data, const struct mt_replay *replay, struct mt_torch_block *block,
                     const struct mt_event *event);
    /* Memory ran out: the block was not allocated. */
    int (*failed)(void *data, const struct mt_replay *replay, struct mt_torch_block *block,
                  const struct mt_event *event);
    int (*freed)(void *data, const struct mt_replay *replay, struct mt_torch_block *block,
                 const struct mt_event *event);
    /* A block that waited may be reused. */
    int (*completed)(void *data, const struct mt_replay *replay, struct mt_torch_block *block,
                     const struct mt_event *event);
    /* call: the CUDA call, before the event that identifies the segment. May be NULL. */
    int (*got)(void *data, const struct mt_torch_segment *segment, const struct mt_event *call);
    int (*gives_back)(void *data, const struct mt_replay *replay,
                      const struct mt_torch_segment *segment, const struct mt_event *event);
};

struct mt_torch_memory {
    const struct mt_torch_watcher *watcher; /* the owner's, as data */
    void *data;
    struct mt_torch_block *block; /* by number + 1; event 0: unused */
    size_t n_blocks, blocks_capacity;
    size_t n_waiting;                 /* blocks */
    uint32_t free_block;              /* number + 1, the next one's in `size`; 0: none */
    struct mt_address_map by_address; /* number + 1 */
    struct mt_torch_segment *segment; /* in the order of addresses */
    size_t n_segments, segments_capacity;
    struct mt_address_map pools; /* numbers, by handle and slot */
    uint32_t n_pools[MT_DEVICES];
};

/* Clear it. A zeroed struct with a watcher is empty. */
void mt_torch_memory_clear(struct mt_torch_memory *memory);

/* Handle an event after the replay has. Return 0 or -ENOMEM. */
int mt_torch_memory_event(struct mt_torch_memory *memory, const struct mt_replay *replay,
                          const struct mt_event *event);

/* Complete all frees of a device: PyTorch waits for them before it frees segments, though the trace
 * may show it only later. Return 0 or -ENOMEM. */
int mt_torch_memory_complete(struct mt_torch_memory *memory, const struct mt_replay *replay,
                             unsigned slot, const struct mt_event *event);

/* Return whether a range lies within known segments; an expandable one has many pieces. */
bool mt_torch_memory_has(const struct mt_torch_memory *memory, uint64_t address, uint64_t size);

#endif
