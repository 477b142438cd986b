/* SPDX-License-Identifier: Apache-2.0 */
#include "ranges.h"
#include "analyzer/support/grow.h"

#include <stdio.h>
#include <strings.h>

/* Only damaged traces have more, and programs that never close ranges. */
#define NESTING_LIMIT 512u
#define PATH_LIMIT (1u << 20)

struct open_range {
    uint64_t number; /* a started range's; 0: it was pushed */
    uint32_t name, domain, path;
};

struct mt_range_thread {
    struct open_range *open;
    size_t n, capacity;
};

void mt_ranges_clear(struct mt_ranges *ranges)
{
    for (uint32_t i = 0; i < ranges->threads.n; i++)
        free(((struct mt_range_thread *)mt_by_id(&ranges->threads, i))->open);
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        mt_ranges_forget(ranges, slot);
    mt_by_id_clear(&ranges->threads);
    free(ranges->range);
    free(ranges->mark);
    mt_address_map_clear(&ranges->by_key);
    mt_address_map_clear(&ranges->marks_by_key);
    mt_address_map_clear(&ranges->started);
    memset(ranges, 0, sizeof *ranges);
}

static struct mt_range_thread *thread_of(struct mt_ranges *ranges, uint32_t thread)
{
    return mt_by_id_reach(&ranges->threads, thread, MT_THREAD_LIMIT,
                          sizeof(struct mt_range_thread));
}

/* Return a key of 64 bits: 20 for the outer path, 24 for the name, 20 for the domain. */
static uint64_t key_of(uint32_t parent, uint32_t name, uint32_t domain)
{
    return (uint64_t)parent << 44 | (uint64_t)(name & 0xffffff) << 20 | (domain & 0xfffff);
}

/* Return the path of a range inside another; the outer path if there are too many. 0: no memory. */
static uint32_t path_of(struct mt_ranges *ranges, uint32_t parent, uint32_t name, uint32_t domain)
{
    uint64_t key = key_of(parent, name, domain);
    uint32_t path = mt_address_map_get(&ranges->by_key, key);
    if (path)
        return path;
    size_t next = ranges->n_ranges ? ranges->n_ranges : 1;
    if (next >= PATH_LIMIT)
        return parent ? parent : 1;
    if (MT_GROW(ranges->range, ranges->ranges_capacity, next) ||
        mt_address_map_put(&ranges->by_key, key, (uint32_t)next))
        return 0;
    ranges->range[next] = (struct mt_range){.parent = parent, .name = name, .domain = domain};
    ranges->n_ranges = next + 1;
    return (uint32_t)next;
}

static uint32_t string_id(uint64_t id)
{
    return id > UINT32_MAX ? 0 : (uint32_t)id;
}

static int open_range(struct mt_ranges *ranges, uint32_t thread, uint32_t around,
                      struct open_range range)
{
    struct mt_range_thread *t = thread_of(ranges, thread);
    if (!t)
        return -ENOMEM;
    if (t->n == NESTING_LIMIT)
        return 0;
    if (MT_GROW(t->open, t->capacity, t->n))
        return -ENOMEM;
    range.path = path_of(ranges, t->n ? t->open[t->n - 1].path : around, range.name, range.domain);
    if (!range.path || (range.number && mt_address_map_put(&ranges->started, range.number,
                                                           1 + mt_thread_id(thread))))
        return -ENOMEM;
    ranges->range[range.path].times++;
    t->open[t->n++] = range;
    return 0;
}

/* Close a range. Ranges that were opened inside it stay open, without it around them. */
static int close_range(struct mt_ranges *ranges, struct mt_range_thread *t, size_t at)
{
    uint32_t around = ranges->range[t->open[at].path].parent;
    memmove(&t->open[at], &t->open[at + 1], (t->n - at - 1) * sizeof *t->open);
    t->n--;
    for (size_t i = at; i < t->n; i++) {
        t->open[i].path = path_of(ranges, around, t->open[i].name, t->open[i].domain);
        if (!t->open[i].path)
            return -ENOMEM;
        around = t->open[i].path;
    }
    return 0;
}

static int pop(struct mt_ranges *ranges, uint32_t thread, uint32_t domain)
{
    struct mt_range_thread *t = thread_of(ranges, thread);
    if (!t)
        return -ENOMEM;
    for (size_t i = t->n; i-- > 0;)
        if (!t->open[i].number && t->open[i].domain == domain)
            return close_range(ranges, t, i);
    return 0; /* opened before the recording began */
}

static int end(struct mt_ranges *ranges, uint64_t number)
{
    uint32_t thread = mt_address_map_take(&ranges->started, number);
    struct mt_range_thread *t = thread ? thread_of(ranges, thread - 1) : NULL;
    for (size_t i = 0; t && i < t->n; i++)
        if (t->open[i].number == number)
            return close_range(ranges, t, i);
    return 0;
}

static int note_mark(struct mt_ranges *ranges, const struct mt_event *event)
{
    uint32_t name = string_id(event->RANGE_MARK.name);
    uint32_t domain = string_id(event->RANGE_MARK.domain);
    uint64_t key = key_of(0, name, domain);
    if (ranges->n_marks == PATH_LIMIT && !mt_address_map_get(&ranges->marks_by_key, key))
        return 0;
    uint32_t place = MT_PLACE_OF(&ranges->marks_by_key, key, ranges->mark, ranges->marks_capacity,
                                 ranges->n_marks);
    if (!place)
        return -ENOMEM;
    struct mt_range_mark *mark = &ranges->mark[place - 1];
    if (!mark->times++)
        *mark = (struct mt_range_mark){
            .name = name, .domain = domain, .times = 1, .first_ns = event->time_ns};
    mark->last_ns = event->time_ns;
    return 0;
}

bool mt_range_is_of_library(const struct mt_definitions *definitions, uint64_t domain)
{
    static const char *const libraries[] = {"cccl",     "cub",      "thrust", "nccl",
                                            "cudnn",    "cublas",   "cufft",  "cusparse",
                                            "cusolver", "cutensor", "curand", "nvshmem"};
    const char *name = domain ? mt_string(definitions, string_id(domain)) : "";
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (!strncasecmp(name, libraries[i], strlen(libraries[i])))
            return true;
    return false;
}

int mt_ranges_event(struct mt_ranges *ranges, const struct mt_definitions *definitions,
                    const struct mt_event *event, uint32_t around)
{
    uint64_t domain = event->kind == MT_RANGE_PUSH    ? event->RANGE_PUSH.domain
                      : event->kind == MT_RANGE_START ? event->RANGE_START.domain
                      : event->kind == MT_RANGE_MARK  ? event->RANGE_MARK.domain
                                                      : 0;
    if (mt_range_is_of_library(definitions, domain))
        return 0; /* nor does its end close one */
    switch (event->kind) {
    case MT_RANGE_PUSH:
        return open_range(ranges, event->thread, around,
                          (struct open_range){.name = string_id(event->RANGE_PUSH.name),
                                              .domain = string_id(event->RANGE_PUSH.domain)});
    case MT_RANGE_POP:
        return pop(ranges, event->thread, string_id(event->RANGE_POP.domain));
    case MT_RANGE_START:
        return open_range(ranges, event->thread, around,
                          (struct open_range){.number = event->RANGE_START.range,
                                              .name = string_id(event->RANGE_START.name),
                                              .domain = string_id(event->RANGE_START.domain)});
    case MT_RANGE_END:
        return end(ranges, event->RANGE_END.range);
    case MT_RANGE_MARK:
        return note_mark(ranges, event);
    }
    return 0;
}

uint32_t mt_ranges_of_thread(const struct mt_ranges *ranges, uint32_t thread)
{
    thread = mt_thread_id(thread);
    const struct mt_range_thread *t =
        thread < ranges->threads.n ? mt_by_id(&ranges->threads, thread) : NULL;
    return t && t->n ? t->open[t->n - 1].path : 0;
}

int mt_ranges_note(struct mt_ranges *ranges, unsigned slot, uint32_t path,
                   const struct mt_range_most *now)
{
    if (MT_GROW(ranges->device[slot].most, ranges->device[slot].capacity, (size_t)path))
        return -ENOMEM;
    if (ranges->device[slot].n <= path)
        ranges->device[slot].n = (size_t)path + 1;
    struct mt_range_most *most = &ranges->device[slot].most[path];
    if (!most->event || now->bytes > most->bytes)
        *most = *now;
    return 0;
}

void mt_ranges_forget(struct mt_ranges *ranges, unsigned slot)
{
    free(ranges->device[slot].most);
    memset(&ranges->device[slot], 0, sizeof ranges->device[slot]);
}

void mt_ranges_finish(struct mt_ranges *ranges)
{
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        for (size_t path = ranges->device[slot].n; path-- > 1;) {
            const struct mt_range_most *most = &ranges->device[slot].most[path];
            uint32_t parent = ranges->range[path].parent;
            struct mt_range_most *around = &ranges->device[slot].most[parent];
            if (parent && most->event && (!around->event || most->bytes > around->bytes))
                *around = *most;
        }
}

void mt_range_name_text(char *out, size_t size, const struct mt_definitions *definitions,
                        uint32_t name, uint32_t domain)
{
    const char *text = mt_string(definitions, name);
    if (domain)
        snprintf(out, size, "%s: %s", mt_string(definitions, domain), text);
    else
        snprintf(out, size, "%s", *text ? text : "(without a name)");
}

bool mt_range_is_graph(const struct mt_definitions *definitions, const struct mt_range *range)
{
    return range->domain && !strncmp(mt_string(definitions, range->domain), "CUDA", 4) &&
           !strncmp(mt_string(definitions, range->name), "graph ", 6);
}

bool mt_range_is_of_graph(const struct mt_definitions *definitions, const struct mt_ranges *ranges,
                          uint32_t path)
{
    while (path && !mt_range_is_graph(definitions, &ranges->range[path]))
        path = ranges->range[path].parent;
    return path != 0;
}

void mt_range_text(char *out, size_t size, const struct mt_definitions *definitions,
                   const struct mt_ranges *ranges, uint32_t path)
{
    uint32_t paths[64];
    size_t n = 0, at = 0;
    snprintf(out, size, "no range");
    for (; path && path < ranges->n_ranges && n < sizeof paths / sizeof *paths;
         path = ranges->range[path].parent)
        paths[n++] = path;
    while (n-- > 0 && at + 4 < size) {
        const struct mt_range *range = &ranges->range[paths[n]];
        mt_range_name_text(out + at, size - at, definitions, range->name, range->domain);
        at += strlen(out + at);
        if (n && at + 4 < size) {
            memcpy(out + at, " > ", 4);
            at += 3;
        }
    }
}
