/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks.h"

#include <string.h>

enum { MOST_POINTS = MT_MOST_RANK_RUNS + 8 };

void mt_rank_kinds_begin(struct mt_rank_kinds *kinds, unsigned world)
{
    *kinds = (struct mt_rank_kinds){.world = world, .axis[0] = {1, world, 0}, .n_axes = 1};
}

/* Split the axis that contains this stride. */
static void cut(struct mt_rank_kinds *kinds, uint64_t stride)
{
    for (unsigned i = 0; i < kinds->n_axes && kinds->n_axes < MT_MOST_AXES; i++) {
        struct mt_rank_axis *axis = &kinds->axis[i];
        uint64_t end = (uint64_t)axis->stride * axis->size;
        if (stride <= axis->stride || stride >= end || stride % axis->stride || end % stride)
            continue;
        memmove(axis + 1, axis, (kinds->n_axes++ - i) * sizeof *axis);
        axis[0].size = (unsigned)(stride / axis->stride);
        axis[1] = (struct mt_rank_axis){(unsigned)stride, (unsigned)(end / stride), 0};
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

void mt_rank_kinds_learn(struct mt_rank_kinds *kinds, struct mt_rank_run run)
{
    if (kinds->n_known < MT_MOST_RANK_RUNS)
        kinds->known[kinds->n_known++] = run;
}

static const struct mt_rank_run *find_run(const struct mt_rank_kinds *kinds, unsigned rank)
{
    for (unsigned i = 0; i < kinds->n_known; i++)
        if (kinds->known[i].rank == rank)
            return &kinds->known[i];
    return NULL;
}

/* Return a rank's run. NULL: it has been requested, or there are too many runs. */
static const struct mt_rank_run *want_run(struct mt_rank_kinds *kinds, unsigned rank)
{
    const struct mt_rank_run *run = find_run(kinds, rank);
    if (run)
        return run;
    for (unsigned i = 0; i < kinds->n_wanted; i++)
        if (kinds->wanted[i] == rank)
            return NULL;
    if (kinds->n_known + kinds->n_wanted < MT_MOST_RANK_RUNS)
        kinds->wanted[kinds->n_wanted++] = rank;
    return NULL;
}

/* The coordinates of an axis that were run next to one rank, in order. */
struct line {
    struct point {
        unsigned at;
        const struct mt_rank_run *run; /* NULL: pending, or there were too many runs */
    } point[MOST_POINTS];
    unsigned n;
    bool is_complete; /* all kinds are known, down to differing neighbours */
};

static void add_point(struct mt_rank_kinds *kinds, struct line *line, unsigned place, unsigned at,
                      unsigned rank)
{
    struct point *point = &line->point[place];
    memmove(point + 1, point, (line->n++ - place) * sizeof *point);
    *point = (struct point){at, want_run(kinds, rank)};
    line->is_complete &= point->run != NULL;
}

static bool differ(const struct line *line, unsigned i)
{
    const struct mt_rank_run *run = line->point[i].run, *next = line->point[i + 1].run;
    return run && next && run->kind != next->kind;
}

/* Find the kinds along an axis, starting at `rank`, which has coordinate 0. */
static void walk(struct mt_rank_kinds *kinds, const struct mt_rank_axis *axis, unsigned rank,
                 bool is_ends, struct line *line)
{
    unsigned last = axis->size - 1, first[] = {0, 1, last / 2, last > 1 ? last - 1 : last, last};
    *line = (struct line){.is_complete = true};
    for (unsigned i = 0; i < sizeof first / sizeof *first; i++)
        if (!is_ends || first[i] == 0 || first[i] == last)
            if (!line->n || (first[i] > line->point[line->n - 1].at && first[i] <= last))
                add_point(kinds, line, line->n, first[i], rank + first[i] * axis->stride);
    for (unsigned i = 0; i + 1 < line->n; i++) {
        const struct point *point = &line->point[i];
        while (differ(line, i) && point[1].at - point->at > 1 && line->n < MOST_POINTS) {
            unsigned middle = point->at + (point[1].at - point->at) / 2;
            add_point(kinds, line, i + 1, middle, rank + middle * axis->stride);
        }
    }
}

/* Leave out ranks that were not run because there were too many. */
static void drop_unknown(struct line *line)
{
    unsigned n = 0;
    for (unsigned i = 0; i < line->n; i++)
        if (line->point[i].run)
            line->point[n++] = line->point[i];
    line->n = n;
}

static void add_ranks(struct mt_rank_kinds *kinds, unsigned rank, uint64_t stands)
{
    const struct mt_rank_run *run = find_run(kinds, rank);
    unsigned i = 0;
    if (!run)
        return;
    while (i < kinds->n_kinds && kinds->kind[i].first->kind != run->kind)
        i++;
    struct mt_rank_kind *kind = &kinds->kind[i];
    if (i == kinds->n_kinds)
        kinds->kind[kinds->n_kinds++] = (struct mt_rank_kind){.first = run};
    kind->stands += (unsigned)stands;
    kind->first = rank < kind->first->rank ? run : kind->first;
    kinds->unknown -= (unsigned)stands;
}

/* A rank and the number of ranks it stands for. last: the furthest of them. */
struct place {
    unsigned rank, last;
    uint64_t stands;
};

/* Confirm the axes. Axes that make no difference one by one may make one together; `last` shows it.
 */
static void confirm(struct mt_rank_kinds *kinds, struct place place)
{
    const struct mt_rank_run *own = want_run(kinds, place.rank),
                             *last = want_run(kinds, place.last);
    bool is_other = own && last && own->kind != last->kind && place.stands > 1;
    if (is_other)
        add_ranks(kinds, place.last, 1);
    add_ranks(kinds, place.rank, place.stands - is_other);
}

/* Continue from a place over the axes from number `at` on. */
static void visit(struct mt_rank_kinds *kinds, const struct mt_rank_axis *order, unsigned at,
                  struct place place)
{
    struct line line;
    const struct mt_rank_axis *axis = &order[at];
    if (at == kinds->n_axes) {
        confirm(kinds, place);
        return;
    }
    walk(kinds, axis, place.rank, axis->intervals == 1 && place.rank, &line);
    if (!line.is_complete && kinds->n_wanted)
        return;
    drop_unknown(&line);
    if (!line.n || line.point[0].at)
        return;
    for (unsigned i = 0, begin = 0; i < line.n; i++) {
        if (i + 1 < line.n && !differ(&line, i))
            continue;
        unsigned from = line.point[begin].at, to = line.point[i].at;
        visit(kinds, order, at + 1,
              (struct place){place.rank + from * axis->stride, place.last + to * axis->stride,
                             place.stands * (to - from + 1)});
        begin = i + 1;
    }
}

/* Walk all axes from rank 0, and sort them by the number of differences. Return whether their kinds
 * are known. */
static bool find_order(struct mt_rank_kinds *kinds, struct mt_rank_axis order[MT_MOST_AXES])
{
    bool is_complete = true;
    for (unsigned i = 0; i < kinds->n_axes; i++) {
        struct line line;
        struct mt_rank_axis axis = kinds->axis[i];
        unsigned at = i;
        walk(kinds, &axis, 0, false, &line);
        is_complete &= line.is_complete;
        axis.intervals = 1;
        for (unsigned j = 0; j + 1 < line.n; j++)
            axis.intervals += differ(&line, j);
        for (; at && order[at - 1].intervals < axis.intervals; at--)
            order[at] = order[at - 1];
        order[at] = axis;
    }
    return is_complete;
}

bool mt_rank_kinds_next(struct mt_rank_kinds *kinds)
{
    struct mt_rank_axis order[MT_MOST_AXES];
    kinds->n_wanted = kinds->n_kinds = 0;
    kinds->unknown = kinds->world;
    if (find_order(kinds, order) || !kinds->n_wanted)
        visit(kinds, order, 0, (struct place){0, 0, 1});
    for (unsigned i = 0; i < kinds->n_kinds; i++)
        for (unsigned j = 0; j < kinds->n_known; j++) {
            const struct mt_rank_run *first = kinds->kind[i].first, *run = &kinds->known[j];
            kinds->kind[i].runs += run->kind == first->kind;
            kinds->kind[i].exact +=
                run->kind == first->kind && first->order && run->order == first->order;
        }
    return kinds->n_wanted;
}
