/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CALLS 4096u /* of a stack */

int mt_profile_ran(struct mt_profile *profile, const struct mt_ran *span)
{
    if (profile->n >= UINT32_MAX - 1 || MT_GROW(profile->span, profile->spans_capacity, profile->n))
        return -ENOMEM;
    profile->has_calls |= span->kind == MT_RAN_CALL;
    profile->span[profile->n++] = *span;
    return 0;
}

int mt_profile_link(struct mt_profile *profile, const struct mt_call_link *link)
{
    return MT_APPEND(profile->link, profile->links_capacity, profile->n_links, *link);
}

void mt_profile_clear(struct mt_profile *profile)
{
    free(profile->span);
    free(profile->link);
    *profile = (struct mt_profile){0};
}

MT_ORDER(by_begin, struct mt_ran,
         MT_RISING(thread) ?: MT_RISING(kind) ?: MT_RISING(begin) ?: MT_FALLING(end))

MT_ORDER(by_id, struct mt_call_link, MT_RISING(id) ?: MT_RISING(is_end))

static bool is_alike(const struct mt_ran *span, uint32_t thread, enum mt_ran_kind kind)
{
    return span->thread == thread && span->kind == kind;
}

/* Return the innermost span that runs in a thread at that time, or NULL. */
static struct mt_ran *running(const struct mt_profile *profile, uint32_t thread,
                              enum mt_ran_kind kind, int64_t time)
{
    const struct mt_ran key = {
        .thread = thread, .kind = (uint8_t)kind, .begin = time, .end = INT64_MIN};
    size_t n = MT_LEADING(i, profile->n, by_begin(&profile->span[i], &key) <= 0);
    struct mt_ran *span = n ? &profile->span[n - 1] : NULL;
    if (!span || !is_alike(span, thread, kind))
        return NULL;
    for (n = 0; span && span->end < time && n < MOST_CALLS; n++)
        span = span->parent ? &profile->span[span->parent - 1] : NULL;
    return span && span->end >= time ? span : NULL;
}

static void find_parents(struct mt_profile *profile)
{
    for (size_t i = 1; i < profile->n; i++) {
        struct mt_ran *span = &profile->span[i];
        uint32_t parent =
            is_alike(&profile->span[i - 1], span->thread, span->kind) ? (uint32_t)i : 0;
        while (parent && profile->span[parent - 1].end <= span->begin)
            parent = profile->span[parent - 1].parent;
        span->parent = parent;
    }
}

/* Find the forward of a link, which leads from a forward operator to its node. */
static void find_forward(struct mt_profile *profile)
{
    for (size_t i = 1; i < profile->n_links; i++) {
        const struct mt_call_link *end = &profile->link[i];
        if (!end->is_end || end[-1].is_end || end[-1].id != end->id)
            continue;
        struct mt_ran *node = running(profile, end->thread, MT_RAN_NODE, end->time);
        if (node)
            node->forward = (uint32_t)i;
    }
}

static void sort(struct mt_profile *profile)
{
    profile->is_sorted = true;
    if (!profile->n)
        return;
    qsort(profile->span, profile->n, sizeof *profile->span, by_begin);
    find_parents(profile);
    if (profile->n_links)
        qsort(profile->link, profile->n_links, sizeof *profile->link, by_id);
    find_forward(profile);
}

/* Return the frame of "net.py(3): forward" at a line, or else at the function's first line. 0 if it
 * is not a Python function, or if memory ran out, which the script records. */
static uint32_t frame_of(struct mt_records *records, const struct mt_ran *span, uint32_t line)
{
    char file[4096], function[1024];
    unsigned first;
    int size = 0;
    const char *name = records->graph.texts.text[span->name];
    const char *at = strstr(name, "): ");
    while (at && at > name && at[-1] >= '0' && at[-1] <= '9')
        at--;
    if (!at || at == name || at[-1] != '(' || (size_t)(at - name) > sizeof file ||
        sscanf(at, "%u): %1023[^\n]%n", &first, function, &size) != 2 || !size)
        return 0;
    memcpy(file, name, (size_t)(at - name - 1));
    file[at - name - 1] = '\0';
    return mt_records_line(records, file, function, line ? line : first);
}

static uint32_t add_frame(struct mt_records *records, uint32_t stack, const struct mt_ran *span,
                          uint32_t line)
{
    uint32_t frame = frame_of(records, span, line);
    return frame ? mt_script_stack(records->script, stack, frame) : stack;
}

/* Return the stack up to the line that called it: its parent's stack, and that line. Starts with
 * the outermost unknown one, so that each is computed once. */
static uint32_t outer_of(struct mt_records *records, struct mt_ran *span)
{
    struct mt_profile *profile = &records->profile;
    struct mt_ran *chain[MOST_CALLS];
    size_t n = 0;
    for (struct mt_ran *at = span; at && !at->has_outer && n < MOST_CALLS;
         at = at->parent ? &profile->span[at->parent - 1] : NULL)
        chain[n++] = at;
    while (n--) {
        const struct mt_ran *parent =
            chain[n]->parent ? &profile->span[chain[n]->parent - 1] : NULL;
        chain[n]->outer = parent ? add_frame(records, parent->outer, parent, chain[n]->from) : 0;
        chain[n]->has_outer = true;
    }
    return span->outer;
}

static uint32_t stack_at(struct mt_records *records, uint32_t thread, int64_t time)
{
    struct mt_ran *call = running(&records->profile, thread, MT_RAN_CALL, time);
    uint32_t outer = call ? outer_of(records, call) : 0;
    return call ? add_frame(records, outer, call, 0) : 0;
}

int mt_profile_whence(struct mt_records *records, uint32_t thread, int64_t time, uint32_t *number)
{
    struct mt_profile *profile = &records->profile;
    struct mt_whence whence = {0};
    if (!profile->is_sorted)
        sort(profile);
    const struct mt_ran *node = running(profile, thread, MT_RAN_NODE, time);
    whence.stack = stack_at(records, thread, time);
    if (node) {
        const char *name = records->graph.texts.text[node->name];
        whence.node = mt_script_string(records->script, node->name, name);
        whence.is_autograd = !whence.stack;
    }
    if (node && node->forward) {
        const struct mt_call_link *from = &profile->link[node->forward - 1];
        whence.forward = stack_at(records, from->thread, from->time);
    }
    records->has_frames |= profile->has_calls;
    int rc = mt_records_whence_number(records, &whence, number);
    return rc ? rc : records->script->rc;
}
