/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gathers evidence about blocks while events go by: what autograd says of their tensors, which
 * backward node made them, and whether they outlived an optimizer's step. It follows each thread:
 * the nodes that run on it, one inside the other, and the step that it is in.
 */
#ifndef MT_TRACKER_H
#define MT_TRACKER_H

#include <stdbool.h>

#include "analyzer/model/heap.h"
#include "analyzer/model/ranges.h"
#include "analyzer/model/storages.h"
#include "analyzer/trace/definitions.h"
#include "analyzer/trace/marks.h"
#include "parts.h"

#define MT_NODE_NAMES 64u

#define MT_THREAD_LIMIT 65536u /* beyond it only damaged traces go */

struct mt_running_node {
    uint64_t node;
    uint32_t name, forward_stack;
    bool is_accumulator;
};

struct mt_thread_state {
    int known;        /* has had an event */
    bool is_autograds; /* one of those that autograd makes, one a device, to run backward */
    uint32_t stack;   /* of the last event, */
    uint32_t python;  /* from its innermost frame of Python on, */
    uint32_t marks;   /* of that, as mt_stack has them */
    uint32_t phase_marks;
    size_t n_stacked;    /* the nodes that ran then, */
    uint8_t phase;       /* and what that made the thread's phase */
    uint32_t step;       /* 0: in none */
    uint32_t step_depth; /* nodes that ran when the step began */
    struct mt_running_node *nodes;
    size_t n_nodes, nodes_capacity;
    struct mt_birth *birth; /* of the block that it made last; NULL: of none */
};

struct mt_tracker {
    const struct mt_definitions *definitions; /* the caller's */
    struct mt_heap *heap;                     /* PyTorch's blocks; the caller's */
    struct mt_heap *cuda;                     /* CUDA's, for tensors in none of these */
    struct mt_thread_state *threads;
    size_t n_threads, threads_capacity;
    struct mt_address_map forward; /* node -> stack where it was made */
    struct mt_when now;
    struct mt_deaths deaths; /* of blocks */
    struct mt_ranges ranges;
    struct mt_storages storages;
    struct mt_parts parts; /* of parameters, which this process has */
    uint32_t leader; /* the thread that runs the training loop: it was last in forward or a step */
    uint32_t steps_begun, steps_ended;
    struct {
        uint32_t name; /* string id */
        bool is_accumulator;
    } node_names[MT_NODE_NAMES]; /* by id, those that were asked for last */
    struct mt_address_map lines; /* mt_line_of -> evidence of what the program makes itself */
    struct mt_address_map numels; /* how many elements parameters have -> 1 */
    int saw_parameters;          /* the trace tells which tensors are parameters */
    int saw_stepped;             /* and which optimizers work on */
};

/* A key for the line in Python that made a block, and its size: what a program makes by it in one
 * iteration, it makes in the next one. */
static inline uint64_t mt_line_of(const struct mt_definitions *definitions,
                                  const struct mt_block *block)
{
    return (uint64_t)mt_stack(definitions, block->stack)->python << 32 |
           (uint32_t)(block->size >> 9);
}

/* A tracker of zeros, but for definitions and the heaps, is new. */
void mt_tracker_clear(struct mt_tracker *tracker);

/* The event's thread does something else than before. Its state; NULL: no memory. */
struct mt_thread_state *mt_tracker_look(struct mt_tracker *tracker, const struct mt_event *event);

/* A node that is made outside of modules makes it forward all the same. Threads besides the one
 * that trains (loaders of data) say nothing of the program's phase by working outside. */
static inline void mt_tracker_follow_phase(struct mt_tracker *tracker,
                                           const struct mt_thread_state *thread,
                                           const struct mt_event *event)
{
    enum mt_phase phase = (enum mt_phase)thread->phase;
    if (phase == MT_PHASE_OUTSIDE && (event->kind == MT_NODE_NEW || event->kind == MT_SAVED))
        phase = MT_PHASE_FORWARD;
    if (phase == MT_PHASE_FORWARD || phase == MT_PHASE_STEP)
        tracker->leader = event->thread;
    if (phase == MT_PHASE_STEP && thread->n_nodes)
        phase = MT_PHASE_BACKWARD; /* a hook's: backward goes on */
    if (phase == MT_PHASE_OUTSIDE && (!thread->python || event->thread != tracker->leader))
        return;
    if (thread->python)
        mt_when_evaluate(&tracker->now, (thread->marks & MT_MARK_EVALUATION) != 0);
    mt_when_enter(&tracker->now, phase);
}

/* Takes note of an event, of any kind, before anything else is done with it. The state of its
 * thread until the next event; NULL: no memory. */
static inline struct mt_thread_state *mt_tracker_follow(struct mt_tracker *tracker,
                                                        const struct mt_event *event)
{
    struct mt_thread_state *thread =
        event->thread < tracker->n_threads ? &tracker->threads[event->thread] : NULL;
    if (!thread || thread->stack != event->stack || thread->n_stacked != thread->n_nodes ||
        !thread->known)
        thread = mt_tracker_look(tracker, event);
    if (thread)
        mt_tracker_follow_phase(tracker, thread, event);
    return thread;
}

/* What an event says that is no allocation or free. 0 or -ENOMEM. */
int mt_tracker_learn(struct mt_tracker *tracker, struct mt_thread_state *thread,
                     const struct mt_event *event);

uint32_t mt_tracker_find_range(const struct mt_tracker *tracker, uint32_t thread);

/* The path of ranges that the thread works in; 0: none. */
static inline uint32_t mt_tracker_range(const struct mt_tracker *tracker, uint32_t thread)
{
    return tracker->ranges.n_ranges ? mt_tracker_find_range(tracker, thread) : 0;
}

/* Another birth for the thread's next blocks than the last. 0 or -ENOMEM. */
int mt_tracker_new_birth(struct mt_tracker *tracker, struct mt_thread_state *thread,
                         const struct mt_event *event, uint64_t number, uint32_t step);

/* Fills in what is known of a block without a birth that an event of the thread, of that number, has
 * just made. 0 or -ENOMEM. */
static inline int mt_tracker_made(struct mt_tracker *tracker, struct mt_thread_state *thread,
                                  struct mt_block *block, const struct mt_event *event,
                                  uint64_t number)
{
    const struct mt_birth *birth = thread->birth;
    uint32_t step = thread->step && mt_stack(tracker->definitions, block->stack)->phase &
                                        MT_MARK_OPTIMIZER
                        ? thread->step
                        : 0;
    if ((!birth || birth->when.epoch != tracker->now.epoch || birth->step != step ||
         birth->when.phase != thread->phase || birth->steps_before != tracker->steps_ended ||
         !mt_birth_is_near(birth, event->time_ns, number)) &&
        mt_tracker_new_birth(tracker, thread, event, number, step))
        return -ENOMEM;
    mt_block_give_birth(block, thread->birth, event->time_ns, number);
    block->range = mt_tracker_range(tracker, event->thread);
    if (thread->n_nodes) {
        uint32_t custom = mt_stack(tracker->definitions, block->stack)->custom;
        block->node_name = custom ? custom : thread->nodes[thread->n_nodes - 1].name;
        block->forward_stack = thread->nodes[thread->n_nodes - 1].forward_stack;
    }
    return 0;
}

/* A hook that runs when a leaf has got its gradient may use it and give it up at once, before
 * autograd tells of it: an optimizer's step in backward. */
static inline bool mt_is_freed_by_leafs_hook(const struct mt_thread_state *thread,
                                             const struct mt_block *block)
{
    return thread->n_nodes && thread->nodes[thread->n_nodes - 1].is_accumulator && thread->python &&
           block->node_name && block->node_name != thread->nodes[thread->n_nodes - 1].name;
}

/* Fills in what a block's end shows, or the end of the trace before its own (at_end). 0 or -ENOMEM. */
static inline int mt_tracker_ended(const struct mt_tracker *tracker, struct mt_block *block,
                                    int at_end)
{
    const struct mt_birth *birth = block->birth;
    uint32_t thread = birth->thread < MT_THREAD_LIMIT ? birth->thread : 0;
    if (mt_block_end(block, &tracker->now))
        return -ENOMEM;
    block->evidence |= at_end ? 0 : MT_SAW_END;
    if (!at_end && thread < tracker->n_threads &&
        mt_is_freed_by_leafs_hook(&tracker->threads[thread], block))
        block->evidence |= MT_SAW_LEAF_HOOK;
    if (birth->step && thread < tracker->n_threads) {
        if (tracker->threads[thread].step != birth->step)
            block->evidence |= MT_SAW_STEP_SURVIVED;
        else if (!at_end)
            block->evidence |= MT_SAW_STEP_DIED;
    }
    if (tracker->steps_ended > birth->steps_before)
        block->evidence |= MT_SAW_LATER_STEP;
    return 0;
}

/* What was known when somebody asked last (keep-plan.h): zeros before. */
struct mt_tracker_seen {
    struct mt_when now;
    uint32_t leader, steps_begun, steps_ended;
    int saw_parameters, saw_stepped;
    size_t lines;
    uint64_t storages, parts;
};

/* Whether something else is known since, other than about a block. */
bool mt_tracker_has_changed(const struct mt_tracker *tracker, struct mt_tracker_seen *seen);

/* What the label that was learned last says besides its block's own. */
struct mt_label_tells {
    int of_storage, of_part; /* the block's storage, or the parameter that it is a part of */
    int of_others;           /* blocks of the same line, size or storage */
};
struct mt_label_tells mt_tracker_label_tells(const struct mt_tracker *tracker,
                                             struct mt_tracker_seen *seen);

/* The program has ended: so have the steps it was in. */
void mt_tracker_finish(struct mt_tracker *tracker);

#endif
