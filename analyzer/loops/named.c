/* SPDX-License-Identifier: Apache-2.0 */
#include "named.h"
#include "analyzer/support/grow.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* "step" and "batch" alone may be an optimizer's step, or the loading of a batch: with a number
 * they count. */
static const char *const names[] = {"iteration",     "iter",       "training iteration",
                                    "training step", "train step", "train batch",
                                    "ProfilerStep",  "request",    "turn"};
static const char *const numbered[] = {"step", "batch"};

#define NAME_SIZE 64u

/* Return the length of a name without its number, and what is between the two. */
static size_t length_of(const char *name)
{
    size_t n = strlen(name);
    while (n && isdigit((unsigned char)name[n - 1]))
        n--;
    while (n && strchr(" _-#:=", name[n - 1]))
        n--;
    return n ? n : strlen(name);
}

void mt_turn_name(char *out, size_t size, const char *name)
{
    snprintf(out, size, "%.*s", (int)(length_of(name) < size ? length_of(name) : size - 1), name);
}

static bool is_among(const char *const *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcasecmp(list[i], name))
            return true;
    return false;
}

static bool is_iteration(const char *text)
{
    char name[NAME_SIZE];
    size_t length = length_of(text);
    if (length >= sizeof name)
        return false;
    mt_turn_name(name, sizeof name, text);
    for (char *at = name; *at; at++)
        *at = *at == '_' || *at == '-' ? ' ' : *at;
    return is_among(names, sizeof names / sizeof *names, name) ||
           (text[length] && is_among(numbered, sizeof numbered / sizeof *numbered, name));
}

static bool is_same_name(const struct mt_definitions *definitions, uint32_t a, uint32_t b)
{
    const char *of_a = mt_string(definitions, a), *of_b = mt_string(definitions, b);
    return a == b || (length_of(of_a) == length_of(of_b) && !strncmp(of_a, of_b, length_of(of_a)));
}

static int open_turn(struct mt_named_turns *turns, const struct mt_definitions *definitions,
                     const struct mt_named_turn *opened, uint64_t number)
{
    size_t i = 0;
    while (i < turns->n &&
           (turns->named[i].thread != opened->thread || turns->named[i].domain != opened->domain ||
            !is_same_name(definitions, turns->named[i].name, opened->name)))
        i++;
    if (i == MT_NAMED_MOST)
        return 0;
    if (i == turns->n)
        turns->named[turns->n++] = *opened;
    turns->boundaries++;
    turns->named[i].path = opened->path;
    return MT_APPEND(turns->named[i].begin, turns->named[i].capacity, turns->named[i].n, number);
}

int mt_named_turns_note(struct mt_named_turns *turns, const struct mt_ranges *ranges,
                        const struct mt_definitions *definitions, const struct mt_event *event,
                        uint64_t number)
{
    uint32_t path = mt_ranges_of_thread(ranges, event->thread);
    if (event->kind == MT_RANGE_PUSH || event->kind == MT_RANGE_START) {
        const struct mt_range *range = path ? &ranges->range[path] : NULL;
        if (!range || !is_iteration(mt_string(definitions, range->name)))
            return 0;
        return open_turn(turns, definitions,
                         &(struct mt_named_turn){.name = range->name,
                                                 .domain = range->domain,
                                                 .thread = event->thread,
                                                 .path = path},
                         number);
    }
    for (size_t i = 0; i < turns->n; i++) /* a path's outer ones have smaller numbers */
        if (turns->named[i].thread == event->thread && turns->named[i].path > path) {
            turns->named[i].path = 0;
            turns->named[i].end = number;
            turns->boundaries++;
        }
    return 0;
}

int mt_named_turns_find(struct mt_turns *turns, const struct mt_named_turns *named,
                        const struct mt_definitions *definitions)
{
    const struct mt_named_turn *best = NULL;
    for (size_t i = 0; i < named->n; i++)
        if (named->named[i].n > 1 && (!best || named->named[i].begin[0] < best->begin[0]))
            best = &named->named[i];
    if (!best)
        return 0;
    mt_turn_name(turns->name, sizeof turns->name, mt_string(definitions, best->name));
    turns->named = best->name;
    turns->thread = best->thread;
    turns->end = best->path ? 0 : best->end;
    for (size_t i = 0; i < best->n; i++)
        if (MT_APPEND(turns->begin, turns->capacity, turns->n, best->begin[i]))
            return -ENOMEM;
    return 0;
}

void mt_named_turns_clear(struct mt_named_turns *turns)
{
    for (size_t i = 0; i < turns->n; i++)
        free(turns->named[i].begin);
    *turns = (struct mt_named_turns){0};
}
