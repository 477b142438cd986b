/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_SELECTION_PHASES_H
#define MT_SELECTION_PHASES_H

#include "trace-format/meaning/follow-phases.h"
#include "trace-format/model.h"

/*
 * The program's phases, as the analyzer sees them (trace-format/meaning/follow-phases.h): an event
 * that changes them is recorded whatever becomes of its block, so that a reader sees the events
 * next to it in the right phase. For the writer only; allocates with malloc.
 */

struct mt_selection_thread {
    struct mt_thread_phase at;
    uint32_t request; /* place + 1 of the request of the thread's next alloc; 0: none */
};

struct mt_selection_stack {
    uint32_t marks, phase; /* of its Python frames, and of the innermost that begins a phase */
    uint32_t caller;       /* the stack that called the outermost module; 0: none */
};

struct mt_selection_phases {
    struct mt_phases program;
    uint32_t *frame; /* marks by id */
    struct mt_selection_stack *stack;
    size_t frames, stacks; /* room */
    struct mt_selection_thread *thread;
    size_t n_threads;
};

void mt_selection_phases_clear(struct mt_selection_phases *phases);

/* Define a frame, a stack or a thread; others are ignored. Return 0 or -ENOMEM. */
int mt_selection_phases_define(struct mt_selection_phases *phases,
                               const struct mt_definition *definition);

/* Return the state of the event's thread, or NULL if there is no memory. */
struct mt_selection_thread *mt_selection_phases_thread(struct mt_selection_phases *phases,
                                                       uint32_t thread);

/* Follow an event of this thread. */
void mt_selection_phases_follow(struct mt_selection_phases *phases, struct mt_thread_phase *thread,
                                const struct mt_event *event);

/* Return how many iterations the program has begun. */
uint32_t mt_selection_iterations(const struct mt_selection_phases *phases);

#endif
