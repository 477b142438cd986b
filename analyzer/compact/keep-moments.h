/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The moments of a trace to keep when not all events are kept: each device's peak, and iterations'
 * highest moments and begins; and events that carry the totals between them.
 */
#ifndef MT_KEEP_MOMENTS_H
#define MT_KEEP_MOMENTS_H

#include "analyzer/replay/replay.h"

#include <stdbool.h>

/*
 * Notes of a first pass over a trace, with which the second knows which events of CUDA's memory to
 * keep: failures and samples come after these events.
 */

/* Numbers, in rising order once sorted, and how many have passed. */
struct mt_marks_list {
    uint64_t *number;
    size_t n, capacity, passed;
};

/* Sort the list and remove duplicates. */
void mt_marks_sort(struct mt_marks_list *list);
/* Return how many of the list are below a number, which never falls. */
static inline size_t mt_marks_below(struct mt_marks_list *list, uint64_t number)
{
    while (list->passed < list->n && list->number[list->passed] < number)
        list->passed++;
    return list->passed;
}

/* Return whether the number, which never falls, is in the list. */
static inline bool mt_marks_has(struct mt_marks_list *list, uint64_t number)
{
    mt_marks_below(list, number);
    return list->passed < list->n && list->number[list->passed] == number;
}

#define MT_SCOUT_RECENT 64u

struct mt_keep_scout {
    struct mt_marks_list failed;              /* frees that ended nothing */
    struct mt_marks_list samples[MT_DEVICES]; /* samples of the devices' memory */
    uint64_t last_oom;                        /* the last out-of-memory event */
    uint64_t before_oom[MT_DEVICES];          /* the last event of CUDA's memory on each device */
    struct {
        uint64_t address, number;
    } recent[MT_SCOUT_RECENT]; /* frees that may have failed */
    unsigned next;
};

/* Note an event, as a watcher's function; data is a scout, zeros at first. */
int mt_keep_scout_saw(void *data, const struct mt_replay *replay, const struct mt_event *event);
void mt_keep_scout_clear(struct mt_keep_scout *scout);

struct mt_keep_moments {
    struct mt_marks_list after_event; /* numbers of events, from 1 */
    struct mt_marks_list totals;      /* numbers of events with a highest total */
};

/* Choose from the replay of a whole trace and the scout's notes. The scout's lists are sorted.
 * Return 0 or -ENOMEM. Call mt_keep_moments_clear in any case. */
int mt_keep_moments_choose(struct mt_keep_moments *moments, const struct mt_replay *replay,
                           const struct mt_keep_scout *scout);
void mt_keep_moments_clear(struct mt_keep_moments *moments);

#endif
