/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gathers evidence about blocks while events go by: what autograd says of their tensors, which
 * backward node made them, and whether they outlived an optimizer's step. It follows each thread:
 * the nodes that run on it, one inside the other, and the step that it is in.
 */
#ifndef MT_TRACKER_H
#define MT_TRACKER_H

#include "definitions.h"
#include "heap.h"
#include "ranges.h"

#define MT_NODE_NAMES 64u

struct mt_thread_state;

struct mt_tracker {
    const struct mt_definitions *definitions; /* the caller's */
    struct mt_heap *heap;                     /* PyTorch's blocks; the caller's */
    struct mt_heap *cuda;                     /* CUDA's, for tensors in none of these */
    struct mt_thread_state *threads;
    size_t n_threads, threads_capacity;
    struct mt_address_map forward; /* node -> stack where it was made */
    struct mt_when now;
    struct mt_ranges ranges;
    uint32_t leader; /* the thread that runs the training loop: it was last in forward or a step */
    uint32_t steps_begun, steps_ended;
    struct {
        uint32_t name; /* string id */
        int is_accumulator;
    } node_names[MT_NODE_NAMES]; /* by id, those that were asked for last */
    int saw_parameters;          /* the trace tells which tensors are parameters */
};

/* A tracker of zeros, but for definitions and the heaps, is new. */
void mt_tracker_clear(struct mt_tracker *tracker);

/* Takes note of an event; for an allocation before mt_tracker_made, for a free after
 * mt_tracker_ended. 0 or -ENOMEM. */
int mt_tracker_event(struct mt_tracker *tracker, const struct mt_event *event);

/* Fills in what is known of a block that the event has just made. */
void mt_tracker_made(struct mt_tracker *tracker, struct mt_block *block);

/* Fills in what a block's end shows, or the end of the trace before its own (at_end). */
void mt_tracker_ended(const struct mt_tracker *tracker, struct mt_block *block, int at_end);

uint32_t mt_tracker_find_range(const struct mt_tracker *tracker, uint32_t thread);

/* The path of ranges that the thread works in; 0: none. */
static inline uint32_t mt_tracker_range(const struct mt_tracker *tracker, uint32_t thread)
{
    return tracker->ranges.n_ranges ? mt_tracker_find_range(tracker, thread) : 0;
}

/* The program has ended: so have the steps it was in. */
void mt_tracker_finish(struct mt_tracker *tracker);

#endif
