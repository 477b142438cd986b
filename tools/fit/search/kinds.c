/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks.h"

#include <string.h>

enum { MOST_POINTS = MT_MOST_RANK_RUNS + 8 };

void mt_rank_kinds_begin(struct mt_rank_kinds *kinds, unsigned world)
{
    *kinds = (struct mt_rank_kinds){.world = world, .axis[0] = {1, world}, .n_axes = 1};
}

/* Cut the axis that has this stride within it. */
static void cut(struct mt_rank_kinds *kinds, uint64_t stride)
{
    for (unsigned i = 0; i < kinds->n_axes && kinds->n_axes < MT_MOST_AXES; i++) {
        struct mt_rank_axis *axis = &kinds->axis[i];
        uint64_t end = (uint64_t)axis->stride * axis->size;
        if (stride <= axis->stride || stride >= end || stride % axis->stride || end % stride)
            continue;
        memmove(axis + 1, axis, (kinds->n_axes++ - i) * sizeof *axis);
        axis[0].size = (unsigned)(stride / axis->stride);
        axis[1] = (struct mt_rank_axis){(unsigned)stride, (unsigned)(end / stride)};
        return;
    }
}

void mt_rank_kinds_divide(struct mt_rank_kinds *kinds, unsigned stride, unsigned count)
{
    if (kinds->world % ((uint64_t)stride * count))
        return;
    cut(kinds, stride);
    cut(kinds, (uint64_t)stride * count);
}

void mt_rank_kinds_learn(struct mt_rank_kinds *kinds, unsigned rank, uint64_t kind)
{
    if (kinds->n_known == MT_MOST_RANK_RUNS)
        return;
    kinds->known[kinds->n_known].rank = rank;
    kinds->known[kinds->n_known++].kind = kind;
}

static const uint64_t *known_kind(const struct mt_rank_kinds *kinds, unsigned rank)
{
    for (unsigned i = 0; i < kinds->n_known; i++)
        if (kinds->known[i].rank == rank)
            return &kinds->known[i].kind;
    return NULL;
}

/* Return a rank's kind. NULL: it is wanted now, or there were too many runs. */
static const uint64_t *kind_of(struct mt_rank_kinds *kinds, unsigned rank)
{
    const uint64_t *kind = known_kind(kinds, rank);
    if (kind)
        return kind;
    for (unsigned i = 0; i < kinds->n_wanted; i++)
        if (kinds->wanted[i] == rank)
            return NULL;
    if (kinds->n_known + kinds->n_wanted < MT_MOST_RANK_RUNS)
        kinds->wanted[kinds->n_wanted++] = rank;
    return NULL;
}

/* The coordinates of an axis that were run beside one rank, in order. */
struct line {
    unsigned at[MOST_POINTS], n;
    const uint64_t *kind[MOST_POINTS];
    bool is_whole; /* all kinds are known, down to neighbours that differ */
};

static void add_point(struct mt_rank_kinds *kinds, struct line *line, unsigned place, unsigned at,
                      unsigned rank)
{
    if (line->n == MOST_POINTS || (place && line->at[place - 1] == at))
        return;
    memmove(&line->at[place + 1], &line->at[place], (line->n - place) * sizeof *line->at);
    memmove(&line->kind[place + 1], &line->kind[place], (line->n - place) * sizeof *line->kind);
    line->n++;
    line->at[place] = at;
    line->kind[place] = kind_of(kinds, rank);
    line->is_whole &= line->kind[place] != NULL;
}

static bool differ(const struct line *line, unsigned i)
{
    return line->kind[i] && line->kind[i + 1] && *line->kind[i] != *line->kind[i + 1];
}

/* Find the kinds along an axis, from `rank` on, which has coordinate 0 there. */
static void walk(struct mt_rank_kinds *kinds, const struct mt_rank_axis *axis, unsigned rank,
                 bool is_ends, struct line *line)
{
    unsigned last = axis->size - 1, first[] = {0, 1, last / 2, last > 1 ? last - 1 : last, last};
    *line = (struct line){.is_whole = true};
    for (unsigned i = 0; i < sizeof first / sizeof *first; i++)
        if (!is_ends || first[i] == 0 || first[i] == last)
            if (!line->n || (first[i] > line->at[line->n - 1] && first[i] <= last))
                add_point(kinds, line, line->n, first[i], rank + first[i] * axis->stride);
    for (unsigned i = 0; i + 1 < line->n; i++)
        while (differ(line, i) && line->at[i + 1] - line->at[i] > 1 && line->n < MOST_POINTS) {
            unsigned middle = line->at[i] + (line->at[i + 1] - line->at[i]) / 2;
            add_point(kinds, line, i + 1, middle, rank + middle * axis->stride);
        }
}

/* Leave out what was not run, since there were too many runs. */
static void drop_unknown(struct line *line)
{
    unsigned n = 0;
    for (unsigned i = 0; i < line->n; i++)
        if (line->kind[i]) {
            line->at[n] = line->at[i];
            line->kind[n++] = line->kind[i];
        }
    line->n = n;
}

/* Return how many intervals of equal kinds there are. */
static unsigned count_intervals(const struct line *line)
{
    unsigned n = 1;
    for (unsigned i = 0; i + 1 < line->n; i++)
        n += differ(line, i);
    return n;
}

static void add_ranks(struct mt_rank_kinds *kinds, unsigned rank, uint64_t stands)
{
    const uint64_t *kind = known_kind(kinds, rank);
    unsigned i = 0;
    if (!kind) {
        kinds->unknown += (unsigned)stands;
        return;
    }
    while (i < kinds->n_kinds && kinds->kind[i].kind != *kind)
        i++;
    if (i == kinds->n_kinds)
        kinds->kind[kinds->n_kinds++] = (struct mt_rank_kind){.kind = *kind, .rank = rank};
    kinds->kind[i].stands += (unsigned)stands;
    if (rank < kinds->kind[i].rank)
        kinds->kind[i].rank = rank;
}

/* The axes in the order in which they are walked: those that make most differences first. */
struct order {
    struct mt_rank_axis axis[MT_MOST_AXES];
    unsigned intervals[MT_MOST_AXES]; /* beside rank 0 */
    unsigned n;
};

/* A rank and how many it stands for. last: the one that is furthest from it among them. */
struct place {
    unsigned rank, last;
    uint64_t stands;
};

/* Confirm the axes. Those that make no difference one by one may make one together: `last` says so.
 */
static void confirm(struct mt_rank_kinds *kinds, struct place place)
{
    const uint64_t *own = kind_of(kinds, place.rank), *last = kind_of(kinds, place.last);
    bool is_other = own && last && *own != *last && place.stands > 1;
    if (is_other)
        add_ranks(kinds, place.last, 1);
    add_ranks(kinds, place.rank, place.stands - is_other);
}

static uint64_t ranks_beyond(const struct order *order, unsigned at)
{
    uint64_t ranks = 1;
    for (unsigned i = at + 1; i < order->n; i++)
        ranks *= order->axis[i].size;
    return ranks;
}

/* Go on from a place over the axes from number `at` on. */
static void visit(struct mt_rank_kinds *kinds, const struct order *order, unsigned at,
                  struct place place)
{
    struct line line;
    if (at == order->n) {
        confirm(kinds, place);
        return;
    }
    const struct mt_rank_axis *axis = &order->axis[at];
    walk(kinds, axis, place.rank, order->intervals[at] == 1 && place.rank, &line);
    if (!line.is_whole && kinds->n_wanted)
        return;
    drop_unknown(&line);
    if (!line.n || line.at[0]) {
        kinds->unknown += (unsigned)(place.stands * axis->size * ranks_beyond(order, at));
        return;
    }
    for (unsigned i = 0, begin = 0; i < line.n; i++) {
        bool is_last = i + 1 == line.n;
        if (!is_last && !differ(&line, i))
            continue;
        unsigned span = line.at[i] - line.at[begin];
        struct place next = {place.rank + line.at[begin] * axis->stride,
                             place.last + line.at[i] * axis->stride, place.stands * (span + 1)};
        if (!is_last)
            kinds->unknown += (unsigned)((line.at[i + 1] - line.at[i] - 1) * place.stands *
                                         ranks_beyond(order, at));
        if (is_last && line.at[i] + 1 < axis->size)
            kinds->unknown +=
                (unsigned)((axis->size - 1 - line.at[i]) * place.stands * ranks_beyond(order, at));
        visit(kinds, order, at + 1, next);
        begin = i + 1;
    }
}

/* Walk all axes beside rank 0. Return whether their kinds are known. */
static bool find_order(struct mt_rank_kinds *kinds, struct order *order)
{
    bool is_whole = true;
    *order = (struct order){.n = 0};
    for (unsigned i = 0; i < kinds->n_axes; i++) {
        struct line line;
        walk(kinds, &kinds->axis[i], 0, false, &line);
        is_whole &= line.is_whole;
        unsigned intervals = count_intervals(&line), at = order->n++;
        for (; at && order->intervals[at - 1] < intervals; at--) {
            order->axis[at] = order->axis[at - 1];
            order->intervals[at] = order->intervals[at - 1];
        }
        order->axis[at] = kinds->axis[i];
        order->intervals[at] = intervals;
    }
    return is_whole;
}

bool mt_rank_kinds_next(struct mt_rank_kinds *kinds)
{
    struct order order;
    kinds->n_wanted = kinds->n_kinds = kinds->unknown = 0;
    if (find_order(kinds, &order) || !kinds->n_wanted)
        visit(kinds, &order, 0, (struct place){0, 0, 1});
    for (unsigned i = 0; i < kinds->n_kinds; i++)
        for (unsigned j = 0; j < kinds->n_known; j++)
            kinds->kind[i].runs += kinds->known[j].kind == kinds->kind[i].kind;
    return kinds->n_wanted;
}
