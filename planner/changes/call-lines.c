/* SPDX-License-Identifier: Apache-2.0 */
/* The lines that call models: those whose calls have a backward train. */
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "kinds.h"

#include <stdlib.h>

size_t mt_first_made(const struct mt_recording *recording, uint64_t event)
{
    return MT_LEADING(i, recording->n, recording->block[i].begin < event);
}

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

bool mt_newest_call_evaluates(const struct mt_call_lines *lines,
                              const struct mt_recording *recording,
                              const struct mt_module_calls *calls)
{
    uint32_t stack = 0;
    for (size_t i = calls->n; i && !stack && !calls->call[i - 1].backward; i--)
        stack = caller_of(recording, &calls->call[i - 1]);
    return stack && lines->n && !has(lines, stack);
}

void mt_call_lines_clear(struct mt_call_lines *lines)
{
    free(lines->stack);
    *lines = (struct mt_call_lines){0};
}
