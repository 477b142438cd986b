/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes of a first pass over a trace, with which the second knows which events of CUDA's memory to
 * keep: failures and samples come after these events.
 */
#ifndef MT_KEEP_SCOUT_H
#define MT_KEEP_SCOUT_H

#include <stdbool.h>

#include "analyzer/replay/replay.h"

/* Numbers, in rising order once sorted, and how many have passed. */
struct mt_marks_list {
    uint64_t *number;
    size_t n, capacity, passed;
};

/* 0 or -ENOMEM. */
int mt_marks_add(struct mt_marks_list *list, uint64_t number);

/* Sort the list and remove duplicates. */
void mt_marks_sort(struct mt_marks_list *list);
void mt_marks_clear(struct mt_marks_list *list);

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

/* A watcher's function; data is a scout, zeros at first. */
int mt_keep_scout_saw(void *data, const struct mt_replay *replay, const struct mt_event *event);
void mt_keep_scout_clear(struct mt_keep_scout *scout);

#endif
