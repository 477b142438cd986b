/* SPDX-License-Identifier: Apache-2.0 */
/* When blocks are live and not needed, as the report decides it for its moment. */
#ifndef MT_PAGE_IDLE_TIMES_H
#define MT_PAGE_IDLE_TIMES_H

#include "course.h"

struct mt_idle_time {
    uint32_t life;
    uint32_t from, to; /* its device's moments: from .. to - 1 */
    uint32_t line;     /* of its last use, if it is idle until its end; 0: another, or unknown */
};

struct mt_idle_change {
    uint32_t moment, life;
    bool is_end; /* of the time */
};

/* Initialize with zeros. */
struct mt_idle_times {
    const struct mt_lives *lives;
    const struct mt_replay *replay;
    struct mt_idle_time *time; /* in the order of lives */
    size_t n, capacity;
    uint32_t *late; /* those with a line, by device, line and begin */
    size_t n_late;
    struct mt_idle_change *change[MT_DEVICES]; /* by moment */
    size_t n_changes[MT_DEVICES], changes_capacity[MT_DEVICES];
};

/* Find them, after mt_lives_order. Both others must outlive them. 0 or -ENOMEM. */
int mt_idle_times_find(struct mt_idle_times *idle, const struct mt_lives *lives,
                       const struct mt_analysis *analysis);
void mt_idle_times_clear(struct mt_idle_times *idle);

/* Return a life's times, and their count. */
const struct mt_idle_time *mt_idle_times_of(const struct mt_idle_times *idle, uint32_t life,
                                            size_t *n);

/* Return whether a life is idle after a moment. */
bool mt_is_idle(const struct mt_idle_times *idle, uint32_t life, size_t moment);

/* Return whether a live block is not needed after a moment: it is idle, unless it was last used by
 * the line that allocates then, in its own iteration. */
bool mt_is_unneeded(const struct mt_idle_times *idle, uint32_t life, size_t moment);

/* Write MT_CATEGORY_COUNT numbers a column of mt_bands: the bytes of blocks that are not needed, by
 * group. */
void mt_bands_unneeded(const struct mt_idle_times *idle, const struct mt_range_shown *range,
                       double *out);

#endif
