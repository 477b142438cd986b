/* SPDX-License-Identifier: Apache-2.0 */
#include "light-phases.h"
#include "preload/record/intern.h"
#include "trace-format/meaning/marks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 65536u
#define MOST_NESTED 4096u /* as in the tracker */
#define NATIVE 128u       /* a frame's */

/* Marks of a stack: of all its frames, and of the innermost frame that begins a phase. */
enum { PYTHON = 1, OPTIMIZER = 2, BACKWARD = 4, EVALUATION = 8, STEPS = 16, CALLS = 32 };
/* A frame begins a phase, which may be another one than these two. */
#define BEGINS 64u

void mt_light_phases_clear(struct mt_light_phases *phases)
{
    for (size_t i = 0; i < phases->n_threads; i++)
        free(phases->thread[i].node);
    free(phases->frame);
    free(phases->stack);
    free(phases->thread);
    *phases = (struct mt_light_phases){0};
}

/* Make room for a number; what is new is zeros. */
static int reach(void *array, size_t *room, size_t number, size_t size)
{
    void *old, *grown;
    size_t wanted = number + number / 2 + 64;
    if (number < *room)
        return 0;
    memcpy(&old, array, sizeof old);
    grown = realloc(old, wanted * size);
    if (!grown)
        return -ENOMEM;
    memset((char *)grown + *room * size, 0, (wanted - *room) * size);
    memcpy(array, &grown, sizeof grown);
    *room = wanted;
    return 0;
}

static void copy_text(char out[4096], uint32_t string)
{
    size_t size;
    const char *text = mt_intern_text(string, &size);
    snprintf(out, 4096, "%.*s", (int)(size < 4096 ? size : 4095), text);
}

static unsigned char marks_of_frame(const struct mt_definition *definition)
{
    static char function[4096], file[4096]; /* only the writer is here */
    if (definition->kind == MT_DEF_NATIVE)
        return NATIVE;
    copy_text(function, definition->frame.function);
    copy_text(file, definition->frame.file);
    uint32_t marks = mt_frame_marks(function, file);
    return (unsigned char)(PYTHON | (marks & MT_MARK_OPTIMIZER ? OPTIMIZER | STEPS : 0) |
                           (marks & MT_MARK_BACKWARD ? BACKWARD : 0) |
                           (marks & MT_MARK_EVALUATION ? EVALUATION : 0) |
                           (marks & MT_MARK_MODULE_CALL ? CALLS : 0) |
                           (marks & MT_PHASE_MARKS ? BEGINS : 0));
}

static unsigned char marks_of_stack(unsigned char frame, unsigned char parent)
{
    if (frame & NATIVE)
        return parent;
    unsigned char phase = (frame & BEGINS ? frame : parent) & (STEPS | CALLS);
    return (unsigned char)(((frame | parent) & (PYTHON | OPTIMIZER | BACKWARD | EVALUATION)) |
                           phase);
}

static int define_stack(struct mt_light_phases *phases, const struct mt_definition *definition)
{
    uint32_t frame = definition->stack.frame, parent = definition->stack.parent;
    if (reach(&phases->stack, &phases->stacks, definition->id, 1))
        return -ENOMEM;
    phases->stack[definition->id] =
        marks_of_stack(frame < phases->frames ? phases->frame[frame] : 0,
                       parent < phases->stacks ? phases->stack[parent] : 0);
    return 0;
}

struct mt_light_thread *mt_light_phases_thread(struct mt_light_phases *phases, uint32_t thread)
{
    uint32_t at = thread < MOST_THREADS ? thread : MOST_THREADS;
    return reach(&phases->thread, &phases->n_threads, at, sizeof *phases->thread)
               ? NULL
               : &phases->thread[at];
}

int mt_light_phases_define(struct mt_light_phases *phases, const struct mt_definition *definition)
{
    struct mt_light_thread *thread;
    switch (definition->kind) {
    case MT_DEF_FRAME:
    case MT_DEF_CALL:
    case MT_DEF_NATIVE:
        if (reach(&phases->frame, &phases->frames, definition->id, 1))
            return -ENOMEM;
        phases->frame[definition->id] = marks_of_frame(definition);
        return 0;
    case MT_DEF_STACK:
        return define_stack(phases, definition);
    case MT_DEF_THREAD:
        thread = mt_light_phases_thread(phases, definition->id);
        if (!thread)
            return -ENOMEM;
        thread->is_autograds = definition->text_size >= 11 && /* may have no zero after it */
                               mt_is_name_of_autograds(definition->text);
        return 0;
    default:
        return 0;
    }
}

/* Return whether a step begins or ends: with the thread's first event outside. */
static bool look(struct mt_light_phases *phases, struct mt_light_thread *thread,
                 const struct mt_event *event)
{
    unsigned char marks = event->stack < phases->stacks ? phases->stack[event->stack] : 0;
    bool is_inside = (marks & OPTIMIZER) != 0;
    bool is_change = marks & PYTHON && is_inside != thread->is_in_step;
    if (is_change) {
        thread->is_in_step = is_inside;
        thread->step_depth = thread->n_nodes;
    }
    thread->is_known = true;
    thread->stack = event->stack;
    thread->n_looked = thread->n_nodes;
    thread->marks = marks;
    thread->phase = (uint8_t)mt_phase_of((marks & BACKWARD ? MT_MARK_BACKWARD : 0),
                                         (marks & STEPS ? MT_MARK_OPTIMIZER : 0) |
                                             (marks & CALLS ? MT_MARK_MODULE_CALL : 0),
                                         thread->n_nodes != 0, thread->is_autograds);
    return is_change;
}

bool mt_light_phases_follow(struct mt_light_phases *phases, struct mt_light_thread *thread,
                            const struct mt_event *event)
{
    uint32_t epoch = phases->now.epoch, leader = phases->leader;
    bool has_changed = false;
    if (!thread->is_known || thread->stack != event->stack || thread->n_looked != thread->n_nodes)
        has_changed = look(phases, thread, event);
    enum mt_phase phase = (enum mt_phase)thread->phase;
    if (phase == MT_PHASE_OUTSIDE && (event->kind == MT_NODE_NEW || event->kind == MT_SAVED))
        phase = MT_PHASE_FORWARD;
    if (phase == MT_PHASE_FORWARD || phase == MT_PHASE_STEP)
        phases->leader = event->thread;
    if (phase == MT_PHASE_STEP && thread->n_nodes)
        phase = MT_PHASE_BACKWARD;
    bool is_aside =
        phase == MT_PHASE_OUTSIDE && (!(thread->marks & PYTHON) || event->thread != phases->leader);
    if (!is_aside && thread->marks & PYTHON)
        mt_when_evaluate(&phases->now, (thread->marks & EVALUATION) != 0);
    if (!is_aside)
        mt_when_enter(&phases->now, phase);
    return has_changed || epoch != phases->now.epoch || leader != phases->leader;
}

int mt_light_node_begin(struct mt_light_thread *thread, uint64_t address, uint32_t begun)
{
    if (thread->n_nodes == MOST_NESTED)
        return 0;
    if (thread->n_nodes == thread->capacity) {
        uint32_t capacity = 2 * thread->capacity + 16;
        struct mt_light_node *node = realloc(thread->node, capacity * sizeof *node);
        if (!node)
            return -ENOMEM;
        thread->node = node;
        thread->capacity = capacity;
    }
    thread->node[thread->n_nodes++] = (struct mt_light_node){address, begun};
    return 0;
}

bool mt_light_node_end(struct mt_light_thread *thread, uint64_t address)
{
    uint32_t i = thread->n_nodes;
    while (i && thread->node[i - 1].address != address)
        i--;
    if (!i)
        return false;
    thread->n_nodes = i - 1;
    bool ends_step = thread->is_in_step && thread->n_nodes < thread->step_depth;
    thread->is_in_step &= !ends_step;
    return ends_step;
}

uint32_t mt_light_iterations(const struct mt_light_phases *phases)
{
    return phases->now.backwards ? phases->now.forwards : phases->now.calls;
}
