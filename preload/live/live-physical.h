/* SPDX-License-Identifier: Apache-2.0 */
/* What keeps physical memory (cuMemCreate) besides the handle that it was made with: it may be
 * mapped after its last handle was released, and have several. */
#ifndef MT_PRELOAD_LIVE_PHYSICAL_H
#define MT_PRELOAD_LIVE_PHYSICAL_H

#include "trace-format/model.h"

#include <stdbool.h>
#include <stddef.h>

#define MT_LIVE_HANDLES 4u /* more of them are not told */

struct mt_live_physical {
    uint32_t handles, maps;
    struct mt_event last; /* that gave or took a handle */
};

/* Whether the event makes such memory; whether it gives one more handle to what is there. */
int mt_live_makes_physical(const struct mt_event *event);
int mt_live_gives_handle(const struct mt_event *event);

/* One handle more (by = 1) or less (-1), by that event. */
void mt_live_handle(struct mt_live_physical *physical, const struct mt_event *event, int by);

static inline bool mt_live_is_kept(const struct mt_live_physical *physical)
{
    return physical->handles || physical->maps;
}

/* The events, later than its making, that give it as many handles as it has: how many,
 * MT_LIVE_HANDLES at most. */
size_t mt_live_handle_events(const struct mt_live_physical *physical, struct mt_event *out);

#endif
