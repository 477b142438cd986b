/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live blocks of one level of allocation (PyTorch's blocks, or CUDA's allocations) on all
 * devices. One address space: CUDA's unified addresses are unique in a process over its devices.
 * Its memory grows with what is live, now or at the moment that it remembers, never with the
 * events.
 */
#ifndef MT_HEAP_H
#define MT_HEAP_H

#include "analyzer/support/address-map.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/ordered.h"
#include "phase.h"
#include "trace-format/model.h"

/* Tables by device: slot 0 is "not known", 1 the device 0 and so on; what is further is slot 0. */
#define MT_DEVICES 65u

static inline unsigned mt_device_slot(int device)
{
    return device >= 0 && device + 1 < (int)MT_DEVICES ? (unsigned)device + 1 : 0;
}

/* What is known about a block besides where it is. */
enum mt_evidence {
    MT_SAW_PARAMETER = 1 << 0,       /* wrapped in nn.Parameter */
    MT_SAW_BUFFER = 1 << 1,          /* wrapped in nn.Buffer */
    MT_SAW_SET_DATA = 1 << 2,        /* became a tensor's .data */
    MT_SAW_LEAF = 1 << 3,            /* a leaf that needs a gradient */
    MT_SAW_LEAF_AGAIN = 1 << 4,      /* in more than one graph */
    MT_SAW_LEAF_OF_GRAPH = 1 << 5,   /* first an output of the graph, detached then */
    MT_SAW_GRADIENT = 1 << 6,        /* kept as a leaf's gradient */
    MT_SAW_SAVED = 1 << 7,           /* saved for backward */
    MT_SAW_GRAPH_OUTPUT = 1 << 8,    /* has a grad_fn */
    MT_SAW_STEP_SURVIVED = 1 << 9,   /* made in an optimizer step, lived past its end */
    MT_SAW_STEP_DIED = 1 << 10,      /* made in an optimizer step, freed before its end */
    MT_SAW_LATER_STEP = 1 << 11,     /* lived past the end of an optimizer step */
    MT_SAW_NEEDS_GRAD = 1 << 12,     /* requires_grad was set to true */
    MT_SAW_END = 1 << 13,            /* it was freed: else the trace ends before it */
    MT_SAW_WORKSPACE = 1 << 14,      /* given to a library of CUDA's to work in */
    MT_SAW_LEAF_HOOK = 1 << 17,      /* made in backward, freed by a hook on a leaf's gradient */
    MT_SAW_STEPPED = 1 << 16,        /* an optimizer works on it */
    MT_SAW_STATE = 1 << 15,          /* among an optimizer's state */
    MT_SAW_MODULES_BUFFER = 1 << 18, /* among a module's buffers */
    MT_SAW_EMPTIED = 1 << 19,        /* its storage gives memory back from time to time */
    MT_SAW_SAVED_LATER = 1 << 22,    /* saved for backward in a later forward than its own */
};

struct mt_block {
    uint64_t address, size, time_ns;
    uint64_t event;             /* its allocation's number in the trace, from 1 */
    uint64_t elements;          /* of the largest parameter in it whose label tells; 0: not known */
    uint32_t thread, stack;     /* of the allocation */
    uint32_t evidence;          /* enum mt_evidence */
    uint32_t save_stack;        /* of the first save */
    uint32_t leaf_stack;        /* of a leaf, its first use in forward; of others, their leaf's */
    uint32_t node_name;         /* string id: the backward node that was running; 0: none */
    uint32_t forward_stack;     /* where that node was made */
    uint32_t range;             /* the path of ranges that it was made in (ranges.h); 0: none */
    uint32_t name;              /* string id: what the program calls it; 0: nothing */
    uint32_t step;              /* the optimizer step it was made in; 0: none */
    uint32_t steps_before;      /* optimizer steps that had ended when it was made */
    struct mt_when born, ended; /* ended: or the end of the trace */
    int16_t device;
    uint8_t api;   /* CUDA's level: enum mt_cuda_api */
    uint8_t dtype; /* of a tensor in it, by its first label that tells; 0: not known */
    /* the heap's own */
    uint8_t state;        /* enum mt_block_state */
    uint32_t index, next; /* next: of free or kept records */
    uint32_t pending;     /* 1 + its place in heap->pending, 0: it is in heap->ordered */
    uint64_t moment;      /* moments remembered on its device before it was made */
};

enum mt_block_state { MT_BLOCK_UNUSED, MT_BLOCK_LIVE, MT_BLOCK_KEPT };

#define MT_HEAP_CHUNK 4096u /* records that are allocated together */

struct mt_heap_total {
    uint64_t bytes, blocks; /* live */
};

/*
 * One moment on each device is remembered, the latest that mt_heap_remember was called at: the
 * records of blocks that were live then are kept after their end. So the peak can be explained in
 * one pass, in which every moment that is higher than all before it takes the place of the last.
 */
struct mt_heap {
    struct mt_block **chunks;
    size_t n_chunks, chunks_capacity;
    uint32_t n_records;  /* ever in use at once, index 0 included, which is none */
    uint32_t first_free; /* index, 0: none */
    struct mt_address_map by_address;
    /* Few searches need order: blocks enter it at the first one after their allocation. */
    struct mt_ordered ordered;
    uint32_t *pending;
    size_t n_pending, pending_capacity;
    struct mt_heap_total total[MT_DEVICES];
    struct mt_block none; /* zeros, ever */
    struct {
        uint64_t moments;    /* remembered so far */
        uint32_t first_kept; /* index, 0: none */
    } memory[MT_DEVICES];
};

/* A heap of zeros is empty. */
void mt_heap_clear(struct mt_heap *heap);

/* Every record, to look for live or remembered blocks: index 1 .. heap->n_records - 1. */
static inline struct mt_block *mt_heap_record(const struct mt_heap *heap, uint32_t index)
{
    return &heap->chunks[index / MT_HEAP_CHUNK][index % MT_HEAP_CHUNK];
}

/* The live block that begins at the address; NULL: none. */
static inline struct mt_block *mt_heap_at(const struct mt_heap *heap, uint64_t address)
{
    uint32_t index = mt_address_map_get(&heap->by_address, address);
    return index ? mt_heap_record(heap, index) : NULL;
}

/* The block at the address, if there is one, is about to be looked at. Its place is expected. */
static inline void mt_heap_expect(const struct mt_heap *heap, uint64_t address)
{
    const struct mt_address_map *map = &heap->by_address;
    const struct mt_address_slot *slot =
        map->capacity ? &map->slots[mt_address_map_home(map, address)] : NULL;
    if (!slot || slot->address != address)
        return; /* or it lies further on, which is rare */
    const char *block = (const char *)mt_heap_record(heap, slot->value);
    for (size_t at = 0; at < sizeof(struct mt_block); at += 64)
        __builtin_prefetch(block + at);
}

/* The live block that the address points into, but not to its begin; NULL: none. */
struct mt_block *mt_heap_within(struct mt_heap *heap, uint64_t address);

/* The live block that the address points into; NULL: none. */
static inline struct mt_block *mt_heap_around(struct mt_heap *heap, uint64_t address)
{
    struct mt_block *block = mt_heap_at(heap, address);
    return block ? block : mt_heap_within(heap, address);
}

/* Remembers what is live now on the device of that slot, instead of what was remembered. */
void mt_heap_remember(struct mt_heap *heap, unsigned slot);

/* Whether the block was live at its device's remembered moment. */
static inline int mt_heap_is_remembered(const struct mt_heap *heap, const struct mt_block *block)
{
    return block->state != MT_BLOCK_UNUSED &&
           block->moment < heap->memory[mt_device_slot(block->device)].moments;
}

/* A record that never was in use; NULL: no memory. */
struct mt_block *mt_heap_new_record(struct mt_heap *heap);

/* A record that is not in use; its contents are old. NULL: no memory. */
static inline struct mt_block *mt_heap_take_record(struct mt_heap *heap)
{
    if (!heap->first_free)
        return mt_heap_new_record(heap);
    struct mt_block *block = mt_heap_record(heap, heap->first_free);
    heap->first_free = block->next;
    return block;
}

static inline void mt_heap_give_record(struct mt_heap *heap, struct mt_block *block)
{
    block->state = MT_BLOCK_UNUSED;
    block->next = heap->first_free;
    heap->first_free = block->index;
}

/* Notes that the block is not yet in heap->ordered. */
static inline int mt_heap_await_order(struct mt_heap *heap, struct mt_block *block)
{
    if (mt_grow(&heap->pending, &heap->pending_capacity, heap->n_pending + 1,
                sizeof *heap->pending))
        return -ENOMEM;
    heap->pending[heap->n_pending++] = block->index;
    block->pending = (uint32_t)heap->n_pending;
    return 0;
}

static inline void mt_heap_leave_order(struct mt_heap *heap, struct mt_block *block)
{
    if (!block->pending) {
        mt_ordered_remove(&heap->ordered, block->address);
        return;
    }
    uint32_t last = heap->pending[--heap->n_pending];
    heap->pending[block->pending - 1] = last;
    mt_heap_record(heap, last)->pending = block->pending;
    block->pending = 0;
}

/* Adds a block at its address of its size as the event says, where no live block begins. NULL: no
 * memory. Inline, as mt_heap_end: most events are one or the other. */
static inline struct mt_block *mt_heap_add(struct mt_heap *heap, const struct mt_event *event)
{
    unsigned slot = mt_device_slot(event->device);
    struct mt_block *block = mt_heap_take_record(heap);
    if (!block)
        return NULL;
    uint32_t index = block->index;
    *block = heap->none; /* known zeros gcc fills in by `rep stos`, which is slow to begin */
    block->state = MT_BLOCK_LIVE;
    block->index = index;
    block->address = event->address;
    block->size = event->size;
    block->time_ns = event->time_ns;
    block->thread = event->thread;
    block->stack = event->stack;
    block->device = event->device;
    block->moment = heap->memory[slot].moments;
    if (mt_address_map_put(&heap->by_address, block->address, block->index) ||
        mt_heap_await_order(heap, block)) {
        mt_address_map_take(&heap->by_address, block->address);
        mt_heap_give_record(heap, block);
        return NULL;
    }
    heap->total[slot].bytes += block->size;
    heap->total[slot].blocks++;
    return block;
}

/* Ends a block's life. */
static inline void mt_heap_end(struct mt_heap *heap, struct mt_block *block)
{
    unsigned slot = mt_device_slot(block->device);
    heap->total[slot].bytes -= block->size;
    heap->total[slot].blocks--;
    mt_address_map_take(&heap->by_address, block->address);
    mt_heap_leave_order(heap, block);
    if (!mt_heap_is_remembered(heap, block)) {
        mt_heap_give_record(heap, block);
        return;
    }
    block->state = MT_BLOCK_KEPT;
    block->next = heap->memory[slot].first_kept;
    heap->memory[slot].first_kept = block->index;
}

#endif
