/* SPDX-License-Identifier: Apache-2.0 */
/* The program's open ranges: a new segment begins with them. */
#ifndef MT_LIVE_RANGES_H
#define MT_LIVE_RANGES_H

#include "trace-format/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_live_ranges {
    struct mt_event *open; /* the events that opened them, in order */
    size_t n, capacity;
};

/* Process an event of any kind. Return 0 or -ENOMEM. */
int mt_live_ranges_event(struct mt_live_ranges *ranges, const struct mt_event *event);

/* Call `each` for all open ranges. Return 0, or what `each` returned. */
int mt_live_ranges_each(const struct mt_live_ranges *ranges,
                        int (*each)(const struct mt_event *event));

void mt_live_ranges_clear(struct mt_live_ranges *ranges);

#endif
