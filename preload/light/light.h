/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A light recording (MEMTAP_LIGHT): of a window of events, tell those that a reader needs to know
 * what is live at its end, what was live at the highest moment if that is a new peak, all totals of
 * each phase, and the phases. Blocks of PyTorch's that come and go within a window are only
 * counted, by their place. CUDA's own calls, ranges and settings are all told. For the writer only;
 * allocates with malloc.
 */
#ifndef MT_LIGHT_H
#define MT_LIGHT_H

#include "preload/live/live.h"

#include <stdbool.h>

struct mt_light;

struct mt_light *mt_light_create(void); /* NULL: no memory */
void mt_light_destroy(struct mt_light *light);

/* Learn a definition, before the events that refer to it. 0 or -ENOMEM. */
int mt_light_define(struct mt_light *light, const struct mt_definition *definition);

/* Add the next event to the window. Return 0, -ENOMEM, or -EAGAIN: the window is full; end it
 * first. */
int mt_light_add(struct mt_light *light, const struct mt_event *event);

/* End the window: all its events go to `live`, and those that are told to `tell`. is_last: nothing
 * comes after it. Return 0, -ENOMEM, or what `tell` returned if that is not 0. */
int mt_light_end(struct mt_light *light, struct mt_live *live, bool is_last,
                 int (*tell)(const struct mt_event *event));

/* Give up after a failure: record the rest of the window as it is. */
void mt_light_give_up(struct mt_light *light, int (*tell)(const struct mt_event *event));

/* Tell everything up to a time, and of so many iterations after it. */
void mt_light_write_all(struct mt_light *light, uint64_t until_ns, uint32_t iterations);

/* Return whether such iterations go on. */
bool mt_light_writes_iterations(const struct mt_light *light);

#endif
