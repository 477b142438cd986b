/* SPDX-License-Identifier: Apache-2.0 */
#include "packing.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"

#include <stdlib.h>
#include <string.h>

#define UNIT 512u /* alignment of blocks, as PyTorch's */
#define MOST_LARGE 16384u

/* A block's lifetime, from one request to another. */
struct life {
    uint64_t size, place; /* bytes */
    size_t begin, end;    /* requests */
    bool is_large;
};

static uint64_t rounded(uint64_t size)
{
    return size > UINT64_MAX - UNIT ? size : (size + UNIT - 1) / UNIT * UNIT;
}

static size_t most_blocks(const struct mt_requests *requests)
{
    size_t most = 0;
    for (size_t i = 0; i < requests->n; i++)
        if (requests->request[i].block >= most)
            most = (size_t)requests->request[i].block + 1;
    return most;
}

/* Find the n lifetimes in the order of their begins. of: each request's lifetime as index + 1; 0:
 * none. */
static size_t find_lives(const struct mt_requests *requests, struct life *lives, size_t *of,
                         size_t *now)
{
    size_t n = 0;
    for (size_t i = 0; i < requests->n; i++) {
        const struct mt_request *request = &requests->request[i];
        size_t *current = &now[request->block];
        of[i] = 0;
        if (request->kind == MT_REQUEST_ALLOCATE) {
            lives[n] =
                (struct life){.size = rounded(request->size), .begin = i, .end = requests->n};
            of[i] = *current = ++n;
        } else if ((request->kind == MT_REQUEST_FREE || request->kind == MT_REQUEST_COMPLETE) &&
                   *current) {
            lives[*current - 1].end = i; /* comes twice for a block that waits */
            of[i] = *current;
        }
    }
    return n;
}

MT_ORDER_OF_POINTERS(larger, struct life, MT_FALLING(size) ?: MT_RISING(begin))

static bool meet(const struct life *a, const struct life *b)
{
    return a->begin < b->end && b->begin < a->end;
}

/* Return the lowest free place among the placed lifetimes, which are sorted by place. */
static uint64_t lowest_place(struct life *const *placed, size_t n, const struct life *life)
{
    uint64_t place = 0;
    for (size_t i = 0; i < n; i++) {
        if (!meet(placed[i], life))
            continue;
        if (placed[i]->place >= place && placed[i]->place - place >= life->size)
            break;
        if (place < placed[i]->place + placed[i]->size)
            place = placed[i]->place + placed[i]->size;
    }
    return place;
}

static void insert(struct life **placed, size_t n, struct life *life)
{
    size_t at = n;
    while (at && placed[at - 1]->place > life->place)
        at--;
    memmove(&placed[at + 1], &placed[at], (n - at) * sizeof *placed);
    placed[at] = life;
}

/* Place the largest lifetimes. Return the bytes that they need. */
static uint64_t place_large(struct life **sorted, size_t n, struct life **placed)
{
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++) {
        sorted[i]->is_large = true;
        sorted[i]->place = lowest_place(placed, i, sorted[i]);
        insert(placed, i, sorted[i]);
        if (most < sorted[i]->place + sorted[i]->size)
            most = sorted[i]->place + sorted[i]->size;
    }
    return most;
}

/* Pack the others in order. Return the bytes that all need; UINT64_MAX: out of memory. */
static uint64_t place_small(struct life *lives, const size_t *of, size_t n)
{
    struct mt_gaps gaps = {0};
    uint64_t most = 0;
    for (size_t i = 0; i < n && most != UINT64_MAX; i++) {
        struct life *life = of[i] ? &lives[of[i] - 1] : NULL;
        if (!life || life->is_large)
            continue;
        if (life->begin == i)
            life->place = mt_gaps_take(&gaps, life->size);
        else if (life->end == i && mt_gaps_give(&gaps, life->place, life->place + life->size))
            most = UINT64_MAX;
        if (most < gaps.top)
            most = gaps.top;
    }
    mt_gaps_clear(&gaps);
    return most;
}

/* Return what the packing needs. If there are so few large ones that small ones matter, place all
 * by size. */
uint64_t mt_packing(const struct mt_requests *requests)
{
    size_t blocks = most_blocks(requests), room = requests->allocs + requests->ooms + 1;
    struct life *lives = calloc(room, sizeof *lives), **sorted = calloc(room, sizeof *sorted);
    struct life **placed = calloc(MOST_LARGE + 1, sizeof *placed);
    size_t *of = calloc(requests->n + 1, sizeof *of), *now = calloc(blocks + 1, sizeof *now);
    uint64_t need = 0;
    if (lives && sorted && placed && of && now) {
        size_t n = find_lives(requests, lives, of, now);
        for (size_t i = 0; i < n; i++)
            sorted[i] = &lives[i];
        if (n)
            qsort(sorted, n, sizeof *sorted, larger);
        uint64_t large = place_large(sorted, n < MOST_LARGE ? n : MOST_LARGE, placed);
        uint64_t small = place_small(lives, of, requests->n);
        need = small == UINT64_MAX ? 0 : large + small;
    }
    free(lives);
    free(sorted);
    free(placed);
    free(of);
    free(now);
    return need;
}

static void remove_gap(struct mt_gaps *gaps, size_t at)
{
    gaps->n--;
    memmove(&gaps->gap[at], &gaps->gap[at + 1], (gaps->n - at) * sizeof *gaps->gap);
}

uint64_t mt_gaps_take(struct mt_gaps *gaps, uint64_t size)
{
    for (size_t i = 0; i < gaps->n; i++) {
        struct mt_gap *gap = &gaps->gap[i];
        uint64_t begin = gap->begin;
        if (gap->end - begin < size)
            continue;
        gap->begin += size;
        if (gap->begin == gap->end)
            remove_gap(gaps, i);
        return begin;
    }
    uint64_t begin = gaps->top;
    gaps->top += size;
    return begin;
}

/* Find the first gap that begins at or after an address. */
static size_t find_after(const struct mt_gaps *gaps, uint64_t begin)
{
    return MT_LEADING(i, gaps->n, gaps->gap[i].begin < begin);
}

static int insert_gap(struct mt_gaps *gaps, size_t at, uint64_t begin, uint64_t end)
{
    if (MT_GROW(gaps->gap, gaps->capacity, gaps->n))
        return -ENOMEM;
    memmove(&gaps->gap[at + 1], &gaps->gap[at], (gaps->n++ - at) * sizeof *gaps->gap);
    gaps->gap[at] = (struct mt_gap){begin, end};
    return 0;
}

int mt_gaps_give(struct mt_gaps *gaps, uint64_t begin, uint64_t end)
{
    size_t at = find_after(gaps, begin);
    if (at && gaps->gap[at - 1].end == begin)
        begin = gaps->gap[--at].begin;
    while (at < gaps->n && gaps->gap[at].begin <= end) { /* the previous and the next gap */
        end = gaps->gap[at].end > end ? gaps->gap[at].end : end;
        remove_gap(gaps, at);
    }
    if (end != gaps->top)
        return insert_gap(gaps, at, begin, end);
    gaps->top = begin;
    return 0;
}

void mt_gaps_clear(struct mt_gaps *gaps)
{
    free(gaps->gap);
    *gaps = (struct mt_gaps){0};
}
