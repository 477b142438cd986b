/* SPDX-License-Identifier: Apache-2.0 */
#include "phases.h"
#include "preload/record/intern.h"
#include "trace-format/meaning/marks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 65536u
#define PYTHON (1u << 31) /* next to the marks: not a native frame */

void mt_selection_phases_clear(struct mt_selection_phases *phases)
{
    for (size_t i = 0; i < phases->n_threads; i++)
        free(phases->thread[i].at.nodes);
    free(phases->frame);
    free(phases->stack);
    free(phases->thread);
    *phases = (struct mt_selection_phases){0};
}

/* Make room for a number; new entries are zeros. */
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

static uint32_t marks_of_frame(const struct mt_definition *definition)
{
    static char function[4096], file[4096]; /* only the writer is here */
    if (definition->kind == MT_DEF_NATIVE)
        return 0;
    copy_text(function, definition->frame.function);
    copy_text(file, definition->frame.file);
    return PYTHON | mt_frame_marks(function, file) |
           (definition->kind == MT_DEF_CALL ? mt_call_marks(function) : 0);
}

static int define_stack(struct mt_selection_phases *phases, const struct mt_definition *definition)
{
    uint32_t frame = definition->stack.frame, parent = definition->stack.parent;
    if (reach(&phases->stack, &phases->stacks, definition->id, sizeof *phases->stack))
        return -ENOMEM;
    struct mt_selection_stack *stack = &phases->stack[definition->id];
    uint32_t marks = frame < phases->frames ? phases->frame[frame] : 0;
    if (parent < phases->stacks)
        *stack = phases->stack[parent];
    stack->marks |= marks;
    if (!stack->caller && marks & MT_MARK_MODULE_CALL)
        stack->caller = parent;
    if (marks & MT_PHASE_MARKS)
        stack->phase = marks & MT_PHASE_MARKS;
    return 0;
}

struct mt_selection_thread *mt_selection_phases_thread(struct mt_selection_phases *phases,
                                                       uint32_t thread)
{
    uint32_t at = thread < MOST_THREADS ? thread : MOST_THREADS;
    return reach(&phases->thread, &phases->n_threads, at, sizeof *phases->thread)
               ? NULL
               : &phases->thread[at];
}

int mt_selection_phases_define(struct mt_selection_phases *phases,
                               const struct mt_definition *definition)
{
    struct mt_selection_thread *thread;
    switch (definition->kind) {
    case MT_DEF_FRAME:
    case MT_DEF_CALL:
    case MT_DEF_NATIVE:
        if (reach(&phases->frame, &phases->frames, definition->id, sizeof *phases->frame))
            return -ENOMEM;
        phases->frame[definition->id] = marks_of_frame(definition);
        return 0;
    case MT_DEF_STACK:
        return define_stack(phases, definition);
    case MT_DEF_THREAD:
        thread = mt_selection_phases_thread(phases, definition->id);
        if (!thread)
            return -ENOMEM;
        thread->at.is_autograds = definition->text_size >= 11 && /* may have no zero after it */
                                  mt_is_name_of_autograds(definition->text);
        return 0;
    default:
        return 0;
    }
}

void mt_selection_phases_follow(struct mt_selection_phases *phases, struct mt_thread_phase *thread,
                                const struct mt_event *event)
{
    if (mt_phases_is_new(thread, event)) {
        struct mt_selection_stack stack = {0};
        if (event->stack < phases->stacks)
            stack = phases->stack[event->stack];
        thread->stack = event->stack;
        thread->python = stack.marks & PYTHON ? event->stack : 0;
        thread->marks = stack.marks;
        thread->phase_marks = stack.phase;
        thread->caller = stack.caller;
        mt_phases_update(&phases->program, thread);
    }
    mt_phases_follow(&phases->program, thread, event);
}

uint32_t mt_selection_iterations(const struct mt_selection_phases *phases)
{
    const struct mt_when *now = &phases->program.now;
    return now->backwards ? now->forwards : now->calls;
}
