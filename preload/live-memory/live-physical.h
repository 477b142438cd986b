/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_LIVE_PHYSICAL_H
#define MT_LIVE_PHYSICAL_H

#include "trace-format/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What keeps physical memory (cuMemCreate) besides its first handle: it may have several handles,
 * and stay mapped after the last one is released. */

#define MT_LIVE_HANDLES 4u /* more are not listed */

struct mt_live_physical {
    uint32_t handles, maps;
    struct mt_event last; /* the event that added or removed a handle */
};

/* Return whether the event creates physical memory; whether it gives existing memory another
 * handle. */
bool mt_live_makes_physical(const struct mt_event *event);
bool mt_live_adds_handle(const struct mt_event *event);

/* Add (by = 1) or remove (by = -1) a handle, because of this event. */
void mt_live_handle(struct mt_live_physical *physical, const struct mt_event *event, int by);

static inline bool mt_live_is_kept(const struct mt_live_physical *physical)
{
    return physical->handles || physical->maps;
}

/* Write the events that give the memory its number of handles after its creation. Return their
 * number, at most MT_LIVE_HANDLES. */
size_t mt_live_handle_events(const struct mt_live_physical *physical, struct mt_event *out);

#endif
