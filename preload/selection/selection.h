/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A light recording (MEMTAP_LIGHT). From a window of events it records those that a reader needs to
 * know what is live at its end, what was live at its highest moment if that is a new peak, all
 * totals of each phase, and the phases. PyTorch's blocks that are allocated and freed within a
 * window are only counted, by stack. CUDA's own calls, ranges and settings are all recorded. For
 * the writer only; allocates with malloc.
 */
#ifndef MT_SELECTION_H
#define MT_SELECTION_H

#include "preload/live-memory/live.h"

#include <stdbool.h>

struct mt_selection;

struct mt_selection *mt_selection_create(void); /* NULL: no memory */
void mt_selection_destroy(struct mt_selection *selection);

/* Add a definition, before the events that refer to it. Return 0 or -ENOMEM. */
int mt_selection_define(struct mt_selection *selection, const struct mt_definition *definition);

/* Add the next event to the window. Return 0, -ENOMEM, or -EAGAIN if the window is full; end it
 * first. */
int mt_selection_add(struct mt_selection *selection, const struct mt_event *event);

/* End the window: all its events go to `live`, and those that are recorded to `write`. is_last:
 * nothing comes after it. Return 0, -ENOMEM, or a nonzero result of `write`. */
int mt_selection_end(struct mt_selection *selection, struct mt_live *live, bool is_last,
                     int (*write)(const struct mt_event *event));

/* Give up after a failure: record the rest of the window unchanged. */
void mt_selection_give_up(struct mt_selection *selection,
                          int (*write)(const struct mt_event *event));

/* Record everything up to a time, and that many iterations after it. */
void mt_selection_write_all(struct mt_selection *selection, uint64_t until_ns, uint32_t iterations);

/* Return whether requested iterations are still being recorded. */
bool mt_selection_writes_iterations(const struct mt_selection *selection);

#endif
