/* SPDX-License-Identifier: Apache-2.0 */
/* The lines that call models: those whose calls have a backward train. */
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "facts.h"

#include <stdlib.h>
#include <string.h>

/* Return the stack that called the outermost module; 0: not known. */
static uint32_t caller_of(const struct mt_recording *recording, const struct mt_module_call *call)
{
    size_t i = mt_first_made(recording, call->forward);
    if (i == recording->n || recording->block[i].begin >= call->forward_end)
        return 0;
    uint32_t caller = 0;
    for (uint32_t stack = recording->block[i].stack; stack;) {
        const struct mt_stack *of = mt_stack(recording->definitions, stack);
        if (mt_frame(recording->definitions, of->frame)->path)
            caller = of->parent;
        stack = of->parent;
    }
    return caller;
}

static bool has(const struct mt_call_lines *lines, uint32_t stack)
{
    size_t i = 0;
    while (i < lines->n && lines->stack[i] != stack)
        i++;
    return i < lines->n;
}

/* A program has few such lines; what has more is not worth a search. */
#define LINES_MOST 256u

int mt_call_lines_find(struct mt_call_lines *lines, const struct mt_module_calls *calls,
                       const struct mt_recording *recording)
{
    *lines = (struct mt_call_lines){0};
    for (size_t i = 0; i < calls->n; i++) {
        uint32_t stack = calls->call[i].backward ? caller_of(recording, &calls->call[i]) : 0;
        if (!stack || lines->n == LINES_MOST || has(lines, stack))
            continue;
        if (MT_APPEND(lines->stack, lines->capacity, lines->n, stack))
            return -ENOMEM;
    }
    return 0;
}

bool mt_call_evaluates(const struct mt_call_lines *lines, const struct mt_recording *recording,
                       const struct mt_module_call *call)
{
    uint32_t stack = call->backward || !lines->n ? 0 : caller_of(recording, call);
    return stack && !has(lines, stack);
}

/* Forwards without a backward: after so many that keep their graphs, or make none, none is
 * expected. */
#define FORWARDS_LEAST 4u

/* Return how often the program has come back to the module with which its forwards begin; *newest:
 * the event at which it did last. */
static unsigned count_forwards(const struct mt_recording *recording, uint64_t *newest)
{
    uint32_t first = 0;
    unsigned n = 0;
    for (size_t i = 0; i < recording->n_turns; i++) {
        const struct mt_turn *turn = &recording->turn[i];
        if (turn->phase != MT_PHASE_FORWARD || !turn->module || (first && turn->module != first))
            continue;
        first = turn->module;
        *newest = turn->event;
        n++;
    }
    return n;
}

bool mt_only_infers(const struct mt_recording *recording)
{
    uint64_t newest = 0, ended = 0, saved = 0;
    if (recording->n_steps)
        return false;
    for (size_t i = 0; i < recording->n_turns; i++)
        if (recording->turn[i].phase == MT_PHASE_BACKWARD)
            return false;
    unsigned n = count_forwards(recording, &newest);
    if (!recording->n_nodes)
        return n > FORWARDS_LEAST || (n && mt_has_cache(recording));
    for (size_t i = 0; i < recording->n && recording->block[i].begin < newest; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        if (!block->saved || block->category != MT_CATEGORY_ACTIVATIONS ||
            mt_is_checkpointed(recording, block->stack))
            continue;
        saved += block->size;
        ended += block->end != MT_EVER ? block->size : 0; /* its graph was dropped */
    }
    return (n > FORWARDS_LEAST && saved) || (n > 2 && ended > saved / 4);
}

/* Return whether it is an attempt after one that ran out of memory: its line has trained, though it
 * was called from elsewhere. */
static bool is_tried_again(const struct mt_call_lines *lines, const struct mt_recording *recording,
                           uint32_t stack)
{
    const struct mt_definitions *d = recording->definitions;
    bool has_trained = false, was_caught = false;
    for (size_t i = 0; i < lines->n; i++)
        has_trained |= mt_stack_place(d, lines->stack[i]) == mt_stack_place(d, stack);
    for (size_t i = 0; i < recording->n; i++)
        was_caught |= recording->block[i].was_caught;
    return has_trained && was_caught;
}

bool mt_newest_call_evaluates(const struct mt_call_lines *lines,
                              const struct mt_recording *recording,
                              const struct mt_module_calls *calls)
{
    uint32_t stack = 0;
    for (size_t i = calls->n; i && !stack && !calls->call[i - 1].backward; i--)
        stack = caller_of(recording, &calls->call[i - 1]);
    return stack && lines->n && !has(lines, stack) && !is_tried_again(lines, recording, stack);
}

void mt_call_lines_clear(struct mt_call_lines *lines)
{
    free(lines->stack);
    *lines = (struct mt_call_lines){0};
}

size_t mt_last_forwards(const struct mt_recording *recording)
{
    size_t i = recording->n_turns;
    while (i && recording->turn[i - 1].phase != MT_PHASE_BACKWARD &&
           recording->turn[i - 1].phase != MT_PHASE_STEP)
        i--;
    return i;
}

bool mt_ends_in_evaluation(const struct mt_recording *recording)
{
    if (mt_only_infers(recording))
        return true;
    struct mt_shard_groups groups = {0};
    struct mt_module_calls calls = {0};
    struct mt_call_lines lines = {0};
    bool does = mt_last_forwards(recording) < recording->n_turns &&
                !mt_shard_groups_find(&groups, recording) &&
                !mt_module_calls_find(&calls, recording, &groups.of_frame) &&
                !mt_call_lines_find(&lines, &calls, recording) &&
                mt_newest_call_evaluates(&lines, recording, &calls);
    mt_call_lines_clear(&lines);
    free(calls.call);
    mt_shard_groups_clear(&groups);
    return does;
}
