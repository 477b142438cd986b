/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live memory, for a trace that drops its past (MEMTAP_KEEP): the allocations that are not
 * freed, each with autograd's labels of its tensor, as events that a reader can start with. For the
 * writer only; allocates with malloc.
 */
#ifndef MT_PRELOAD_LIVE_H
#define MT_PRELOAD_LIVE_H

#include "trace-format/model.h"

#include <stdbool.h>

struct mt_live;

struct mt_live *mt_live_create(void); /* NULL: no memory */
void mt_live_destroy(struct mt_live *live);

/* Process the next event of the trace. Return 0, or -ENOMEM: the live memory is unknown from then
 * on. */
int mt_live_event(struct mt_live *live, const struct mt_event *event);

/* Skip instead an event (alloc, free or label) of a block that is freed before the list is needed.
 */
void mt_live_pass(struct mt_live *live, const struct mt_event *event);

/* Process an alloc or a label that was skipped, because its block is needed after all. PyTorch's
 * totals stay as they are now. Return 0 or -ENOMEM. */
int mt_live_recall(struct mt_live *live, const struct mt_event *event);

/* Return whether a PyTorch block begins where the label is, or the label is in no block. */
bool mt_live_has_block(struct mt_live *live, const struct mt_event *label);

/* Return whether a label is new for its block, as far as labels are kept, or is in no block. */
bool mt_live_is_news(struct mt_live *live, const struct mt_event *label);

/* Return whether readers of a light recording do not know where a node was created, and the stack.
 * It counts as known from then on. */
bool mt_live_find_node(struct mt_live *live, uint64_t address, uint32_t *stack);

/* Keep PyTorch's blocks of this event's device, which is at its peak now, even when they are freed,
 * until a higher peak. The event has PyTorch's totals. */
void mt_live_keep_peak(struct mt_live *live, const struct mt_event *event);

/* Call `each` with the events that create the live memory and that of the kept peaks, in time
 * order, until it returns nonzero. Return that, or -ENOMEM. */
int mt_live_each(struct mt_live *live, int (*each)(const struct mt_event *event));

#endif
