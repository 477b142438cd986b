/* SPDX-License-Identifier: Apache-2.0 */
#include "stretches.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"

static const uint64_t unit = UINT64_C(32) << 20;

struct stretch {
    uint64_t at;
    size_t pages, free;
    unsigned char *used; /* of each page: 1 or 0 */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct stretch *stretches; /* oldest first, so addresses fall */
static size_t n, capacity;

/* Return the lowest run of so many free pages; `stretch->pages`: none. */
static size_t find_free(const struct stretch *stretch, size_t pages)
{
    size_t free = 0;
    if (stretch->free < pages)
        return stretch->pages;
    for (size_t i = 0; i < stretch->pages; i++) {
        free = stretch->used[i] ? 0 : free + 1;
        if (free == pages)
            return i + 1 - pages;
    }
    return stretch->pages;
}

/* Add a stretch below all others. NULL: there is no room. */
static struct stretch *add(size_t pages, uint64_t room)
{
    uint64_t low = n ? stretches[n - 1].at : room, size = pages * SIM_PAGE;
    size = (size + unit - 1) / unit * unit;
    if (size > low)
        return NULL;
    if (n == capacity) {
        size_t more = capacity ? 2 * capacity : 64;
        struct stretch *moved = realloc(stretches, more * sizeof *moved);
        if (!moved)
            return NULL;
        stretches = moved;
        capacity = more;
    }
    unsigned char *used = calloc(size / SIM_PAGE, 1);
    if (!used)
        return NULL;
    stretches[n] = (struct stretch){
        .at = low - size, .pages = size / SIM_PAGE, .free = size / SIM_PAGE, .used = used};
    return &stretches[n++];
}

static bool take(size_t pages, uint64_t room, uint64_t *place)
{
    struct stretch *in = NULL;
    size_t first = 0;
    for (size_t i = n; !in && i--;) {
        first = find_free(&stretches[i], pages);
        if (first < stretches[i].pages)
            in = &stretches[i];
    }
    if (!in) {
        in = add(pages, room);
        first = 0;
    }
    if (!in)
        return false;
    memset(in->used + first, 1, pages);
    in->free -= pages;
    *place = in->at + first * SIM_PAGE;
    return true;
}

bool sim_stretches_take(size_t size, uint64_t room, uint64_t *place)
{
    pthread_mutex_lock(&lock);
    bool is_there = take(size / SIM_PAGE, room, place);
    pthread_mutex_unlock(&lock);
    return is_there;
}

/* Return the stretch that has a place: addresses fall. */
static struct stretch *stretch_of(uint64_t place)
{
    size_t from = 0, to = n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (stretches[middle].at > place)
            from = middle + 1;
        else
            to = middle;
    }
    return from < n && place - stretches[from].at < stretches[from].pages * SIM_PAGE
               ? &stretches[from]
               : NULL;
}

void sim_stretches_give(uint64_t place, size_t size)
{
    size_t pages = size / SIM_PAGE;
    pthread_mutex_lock(&lock);
    struct stretch *in = stretch_of(place);
    size_t first = in ? (place - in->at) / SIM_PAGE : 0;
    if (in && pages <= in->pages - first) {
        memset(in->used + first, 0, pages);
        in->free += pages;
    }
    pthread_mutex_unlock(&lock);
}
