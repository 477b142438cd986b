/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gather evidence about blocks, event by event: autograd's labels of their tensors, the backward
 * node that made them, and whether they outlived an optimizer step. Follow each thread: its running
 * nodes, one inside the other, and its step.
 */
#ifndef MT_TRACKER_H
#define MT_TRACKER_H

#include <stdbool.h>

#include "analyzer/model/heap.h"
#include "analyzer/model/ranges.h"
#include "analyzer/model/requests.h"
#include "analyzer/model/storages.h"
#include "analyzer/support/by-id.h"
#include "analyzer/trace/definitions.h"
#include "parts.h"
#include "rooms.h"
#include "steppers.h"
#include "trace-format/meaning/follow-phases.h"
#include "trace-format/meaning/marks.h"

#define MT_NODE_NAMES 64u

struct mt_thread_state {
    struct mt_thread_phase at;
    struct mt_birth *birth; /* the last block's; NULL: none */
    struct mt_thread_requests requests;
};

struct mt_tracker {
    const struct mt_definitions *definitions; /* the caller's */
    struct mt_heap *heap;                     /* PyTorch's blocks; the caller's */
    struct mt_heap *cuda;                     /* CUDA's, for tensors in no PyTorch block */
    struct mt_thread_state *threads;
    size_t n_threads, threads_capacity;
    struct mt_address_map forward; /* node -> stack where it was made */
    struct mt_phases phases;
    struct mt_deaths deaths; /* of blocks */
    struct mt_ranges ranges;
    struct mt_storages storages;
    struct mt_parts parts; /* this process's parts of parameters */
    struct mt_rooms rooms; /* of caches of keys and values */
    struct mt_steppers steppers;
    struct {
        uint32_t name; /* string id */
        bool is_accumulator;
    } node_names[MT_NODE_NAMES];   /* by id, the last queries */
    struct mt_address_map lines;   /* mt_line_of -> evidence on the program's own blocks */
    struct mt_address_map trained; /* mt_root_key of outermost modules that make graphs -> 1 */
    struct mt_address_map loops;   /* stacks below which backward or a step ran -> 1 */
    struct mt_address_map again;   /* stacks of the program's own after its first forward, and of
                                    * what graphs saved -> 1 */
    struct mt_address_map stand_for_all; /* parameters with the state of all of them -> 1 */
    const char *last_trained;            /* mt_stack_root; NULL: none yet */
    uint64_t full;                       /* epoch in which memory ran out last, plus 1; 0: none */
    bool saw_parameters;                 /* the trace labels parameters */
    bool saw_stepped;                    /* and tensors that optimizers update */
};

/* Return a key of the Python line that made a block, or of the forward line of the node that did,
 * and of its size: a program makes the same again in the next iteration. */
static inline uint64_t mt_line_of(const struct mt_definitions *definitions,
                                  const struct mt_block *block)
{
    uint32_t python = mt_stack(definitions, block->stack)->python;
    return (uint64_t)(python ? python : block->forward_stack) << 32 | (uint32_t)(block->size >> 9);
}

/* Return a leaf's stack, which its gradient has as leaf_stack: its first use in forward, or the
 * place where its data was put on the device for a module. */
static inline uint32_t mt_leaf_stack(const struct mt_definitions *definitions,
                                     const struct mt_block *leaf)
{
    return mt_stack(definitions, leaf->stack)->call ? leaf->stack : leaf->leaf_stack;
}

/* Return whether backward made the block, and no module's forward that checkpointing runs again
 * there. */
static inline bool mt_block_is_backwards(const struct mt_definitions *definitions,
                                         const struct mt_block *block)
{
    return block->birth->when.phase == MT_PHASE_BACKWARD &&
           !(mt_stack(definitions, block->stack)->phase & MT_MARK_MODULE_CALL);
}

/* Return whether the program's own code made the block after a backward, for no new module. If a
 * module has it as a parameter, it stands in for the module's own: a function of the parameters is
 * trained (torch.func), and a step makes new ones. */
static inline bool mt_block_stands_in(const struct mt_definitions *definitions,
                                      const struct mt_block *block)
{
    return block->birth->when.phase == MT_PHASE_OUTSIDE && !block->birth->step &&
           block->birth->when.after == MT_PHASE_BACKWARD &&
           !(mt_stack(definitions, block->stack)->phase &
             (MT_MARK_MODULE_INIT | MT_MARK_MODULE_APPLY));
}

/* Return a key of an outermost module, by mt_stack_root. */
static inline uint64_t mt_root_key(const char *root)
{
    return (uint64_t)(uintptr_t)root;
}

/* Clear a tracker; one of zeros, except definitions and the heaps, is new. */
void mt_tracker_clear(struct mt_tracker *tracker);

/* Update the event's thread, which changed its stack or its nodes. Return its state; NULL: no
 * memory. */
struct mt_thread_state *mt_tracker_update(struct mt_tracker *tracker, const struct mt_event *event);

/* Follow an event of any kind, before anything else uses it. Return its thread's state, valid until
 * the next event; NULL: no memory. */
static inline struct mt_thread_state *mt_tracker_follow(struct mt_tracker *tracker,
                                                        const struct mt_event *event)
{
    struct mt_thread_state *thread =
        event->thread < tracker->n_threads ? &tracker->threads[event->thread] : NULL;
    if (!thread || mt_phases_is_new(&thread->at, event))
        thread = mt_tracker_update(tracker, event);
    if (thread)
        mt_phases_follow(&tracker->phases, &thread->at, event);
    return thread;
}

/* Return the state of the event's thread, as it was: what allocated the event's block is not known.
 * NULL: no memory. */
static inline struct mt_thread_state *mt_tracker_thread(struct mt_tracker *tracker,
                                                        const struct mt_event *event)
{
    return event->thread < tracker->n_threads ? &tracker->threads[event->thread]
                                              : mt_tracker_update(tracker, event);
}

/* Learn where a node was made from a light recording, which says so when it runs. 0 or -ENOMEM. */
int mt_tracker_node_made(struct mt_tracker *tracker, const struct mt_event *event);

/* Handle an event that is not an allocation or free. 0 or -ENOMEM. */
int mt_tracker_learn(struct mt_tracker *tracker, struct mt_thread_state *thread,
                     const struct mt_event *event);

uint32_t mt_tracker_find_range(const struct mt_tracker *tracker, uint32_t thread);

/* Return the path of the thread's open ranges; 0: none. */
static inline uint32_t mt_tracker_range(const struct mt_tracker *tracker, uint32_t thread)
{
    return tracker->ranges.n_ranges ? mt_tracker_find_range(tracker, thread) : 0;
}

/* Begin a new birth for the thread's next blocks. 0 or -ENOMEM. */
int mt_tracker_new_birth(struct mt_tracker *tracker, struct mt_thread_state *thread,
                         const struct mt_event *event, uint64_t number, uint32_t step);

/* Return whether a block that is made while a node runs is one of forward, which checkpointing runs
 * again: its line is its own, not the node's. */
static inline bool mt_is_computed_again(const struct mt_tracker *tracker,
                                        const struct mt_block *block)
{
    const struct mt_stack *stack = mt_stack(tracker->definitions, block->stack);
    return stack->phase & MT_MARK_MODULE_CALL && stack->user;
}

/* Note the backward node in which the thread has just made the block. */
static inline void mt_tracker_note_node(const struct mt_tracker *tracker,
                                        const struct mt_thread_state *thread,
                                        struct mt_block *block)
{
    if (thread->at.n_nodes && !mt_is_computed_again(tracker, block)) {
        uint32_t custom = mt_stack(tracker->definitions, block->stack)->custom;
        block->node_name = custom ? custom : thread->at.nodes[thread->at.n_nodes - 1].name;
        block->forward_stack = thread->at.nodes[thread->at.n_nodes - 1].forward_stack;
    }
}

/* Fill in the known facts of a block without a birth that the thread's event of this number has
 * just made. 0 or -ENOMEM. */
static inline int mt_tracker_made(struct mt_tracker *tracker, struct mt_thread_state *thread,
                                  struct mt_block *block, const struct mt_event *event,
                                  uint64_t number)
{
    const struct mt_birth *birth = thread->birth;
    uint32_t step =
        thread->at.step && mt_stack(tracker->definitions, block->stack)->phase & MT_MARK_OPTIMIZER
            ? thread->at.step
            : 0;
    if ((!birth || birth->when.epoch != tracker->phases.now.epoch || birth->step != step ||
         birth->when.phase != thread->at.phase ||
         birth->steps_before != tracker->phases.steps_ended ||
         !mt_birth_is_near(birth, event->time_ns, number)) &&
        mt_tracker_new_birth(tracker, thread, event, number, step))
        return -ENOMEM;
    mt_block_give_birth(block, thread->birth, event->time_ns, number);
    block->range = mt_tracker_range(tracker, event->thread);
    mt_tracker_note_node(tracker, thread, block);
    return 0;
}

/* Return whether a hook frees the gradient. One that runs when a leaf has its gradient may use it
 * and free it at once, before autograd reports it: an optimizer step in backward. Or it gives back
 * another one in its place. */
static inline bool mt_is_freed_by_leafs_hook(const struct mt_thread_state *thread,
                                             const struct mt_block *block)
{
    const struct mt_running_node *node =
        thread->at.n_nodes ? &thread->at.nodes[thread->at.n_nodes - 1] : NULL;
    return node && node->is_accumulator && (thread->at.python || node->had_hook) &&
           block->node_name && block->node_name != node->name;
}

/* Fill in the facts at a block's end, or at the end of the trace before it (at_end). 0 or
 * -ENOMEM. */
static inline int mt_tracker_ended(const struct mt_tracker *tracker, struct mt_block *block,
                                   bool at_end)
{
    const struct mt_birth *birth = block->birth;
    uint32_t thread = mt_thread_id(birth->thread);
    if (mt_block_end(block, &tracker->phases.now))
        return -ENOMEM;
    block->evidence |= at_end ? 0 : MT_SAW_END;
    if (!at_end && thread < tracker->n_threads &&
        mt_is_freed_by_leafs_hook(&tracker->threads[thread], block))
        block->evidence |= MT_SAW_LEAF_HOOK;
    if (!at_end && thread < tracker->n_threads &&
        tracker->threads[thread].at.marks & MT_MARK_AUTOCAST_END)
        block->evidence |= MT_SAW_AUTOCAST;
    if (birth->step && thread < tracker->n_threads) {
        if (tracker->threads[thread].at.step != birth->step)
            block->evidence |= MT_SAW_STEP_SURVIVED;
        else if (!at_end)
            block->evidence |= MT_SAW_STEP_DIED;
    }
    if (tracker->phases.steps_ended > birth->steps_before)
        block->evidence |= MT_SAW_LATER_STEP;
    return 0;
}

/* The state at the last query (keep-plan.h), zeros at first. */
struct mt_tracker_seen {
    struct mt_phases phases;
    bool saw_parameters, saw_stepped;
    size_t lines, loops, again;
    uint64_t storages, parts, steppers, full;
};

/* Return whether the state changed since, other than of a block. */
bool mt_tracker_has_changed(const struct mt_tracker *tracker, struct mt_tracker_seen *seen);

/* Effects of the last label beyond its own block. */
struct mt_label_counts {
    bool of_storage, of_part; /* the block's storage, or the parameter that it is a part of */
    bool of_others;           /* blocks of the same line, size or storage */
};
struct mt_label_counts mt_tracker_label_counts(const struct mt_tracker *tracker,
                                               struct mt_tracker_seen *seen);

/* End the steps that ran at the program's end. */
void mt_tracker_finish(struct mt_tracker *tracker);

#endif
