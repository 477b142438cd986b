/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The moments of a trace that are worth to be kept when single events are not: each device's peak,
 * the highest of iterations; and the events that carry totals, which are looked at between.
 */
#ifndef MT_KEEP_MOMENTS_H
#define MT_KEEP_MOMENTS_H

#include "replay.h"

/* Numbers, in rising order, and how many of them have passed. */
struct mt_marks_list {
    uint64_t *number;
    size_t n, capacity, passed;
};

struct mt_keep_moments {
    struct mt_marks_list after_event; /* numbers of events, from 1 */
    struct mt_marks_list totals;      /* numbers of events that are the highest of something */
};

/* Takes them from the replay of a whole trace. 0 or -ENOMEM; to be cleared in any case. */
int mt_keep_moments_choose(struct mt_keep_moments *moments, const struct mt_replay *replay);
void mt_keep_moments_clear(struct mt_keep_moments *moments);

/* How many of the list are below a number, which never falls. */
static inline size_t mt_marks_below(struct mt_marks_list *list, uint64_t number)
{
    while (list->passed < list->n && list->number[list->passed] < number)
        list->passed++;
    return list->passed;
}

/* Whether the number, which never falls, is in the list. */
static inline int mt_marks_has(struct mt_marks_list *list, uint64_t number)
{
    mt_marks_below(list, number);
    return list->passed < list->n && list->number[list->passed] == number;
}

#endif
