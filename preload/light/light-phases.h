/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's phases, as the analyzer's tracker sees them (analyzer/classify/tracker.h): an event
 * that changes them is told whatever becomes of its block, so that what is told beside it is seen
 * in the right phase. For the writer only; allocates with malloc.
 */
#ifndef MT_LIGHT_PHASES_H
#define MT_LIGHT_PHASES_H

#include "trace-format/meaning/phase.h"
#include "trace-format/model.h"

#include <stdbool.h>

struct mt_light_node {
    uint64_t address;
    uint32_t begun; /* its begin's place in the window + 1; 0: it began before */
};

struct mt_light_thread {
    uint32_t stack;
    uint8_t marks, phase; /* of the stack; enum mt_phase */
    bool is_known, is_autograds, is_in_step;
    uint32_t n_nodes, n_looked; /* nodes that run; those of the last look */
    uint32_t step_depth;
    uint32_t capacity;
    struct mt_light_node *node;
    uint32_t request; /* place + 1 of what the thread's next alloc was asked for; 0: none */
};

struct mt_light_phases {
    unsigned char *frame, *stack; /* their marks, by id */
    size_t frames, stacks;        /* room */
    struct mt_light_thread *thread;
    size_t n_threads;
    struct mt_when now;
    uint32_t leader;
};

void mt_light_phases_clear(struct mt_light_phases *phases);

/* Learn of a frame, a stack or a thread. Others say nothing. 0 or -ENOMEM. */
int mt_light_phases_define(struct mt_light_phases *phases, const struct mt_definition *definition);

/* Return the state of the event's thread; NULL: no memory. */
struct mt_light_thread *mt_light_phases_thread(struct mt_light_phases *phases, uint32_t thread);

/* Follow an event. Return whether it changes a phase, a step, or the thread that trains. */
bool mt_light_phases_follow(struct mt_light_phases *phases, struct mt_light_thread *thread,
                            const struct mt_event *event);

/* A node begins, or ends: whether that ends a step is returned. */
int mt_light_node_begin(struct mt_light_thread *thread, uint64_t address, uint32_t begun);
bool mt_light_node_end(struct mt_light_thread *thread, uint64_t address);

/* Return how many iterations the program has begun. */
uint32_t mt_light_iterations(const struct mt_light_phases *phases);

#endif
