/* SPDX-License-Identifier: Apache-2.0 */
#include "follow-phases.h"

#include <errno.h>
#include <stdlib.h>

#define NESTING_LIMIT 4096u

void mt_phases_end_step(struct mt_phases *phases, struct mt_thread_phase *thread)
{
    phases->steps_ended += thread->step != 0;
    thread->step = 0;
}

/* Follow a step, which ends with the thread's first event outside the optimizer. Events without a
 * stack, as on autograd's threads, show nothing. */
static void follow_step(struct mt_phases *phases, struct mt_thread_phase *thread)
{
    bool is_inside = (thread->marks & MT_MARK_OPTIMIZER) != 0;
    if (!thread->python || is_inside == (thread->step != 0))
        return;
    if (!is_inside) {
        mt_phases_end_step(phases, thread);
        return;
    }
    thread->step = ++phases->steps_begun;
    thread->step_depth = thread->n_nodes;
}

void mt_phases_update(struct mt_phases *phases, struct mt_thread_phase *thread)
{
    thread->is_known = true;
    thread->n_stacked = thread->n_nodes;
    follow_step(phases, thread);
    thread->phase = (uint8_t)mt_phase_of(thread->marks, thread->phase_marks, thread->n_nodes != 0,
                                         thread->is_autograds);
}

int mt_phases_begin_node(struct mt_thread_phase *thread, const struct mt_running_node *node)
{
    if (thread->n_nodes == NESTING_LIMIT)
        return 0;
    if (thread->n_nodes == thread->capacity) {
        uint32_t capacity = 2 * thread->capacity + 16;
        struct mt_running_node *grown = realloc(thread->nodes, capacity * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        thread->nodes = grown;
        thread->capacity = capacity;
    }
    thread->nodes[thread->n_nodes++] = *node;
    return 0;
}

struct mt_running_node *mt_phases_node(const struct mt_thread_phase *thread, uint64_t node)
{
    uint32_t i = thread->n_nodes;
    while (i && thread->nodes[i - 1].node != node)
        i--;
    return i ? &thread->nodes[i - 1] : NULL;
}

void mt_phases_end_node(struct mt_phases *phases, struct mt_thread_phase *thread, uint64_t node)
{
    const struct mt_running_node *ends = mt_phases_node(thread, node);
    if (!ends)
        return;
    thread->n_nodes = (uint32_t)(ends - thread->nodes);
    if (thread->step && thread->n_nodes < thread->step_depth)
        mt_phases_end_step(phases, thread);
}
