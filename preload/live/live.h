/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live memory, for a trace that forgets its past (MEMTAP_KEEP): the allocations that are not
 * freed, each with autograd's labels of its tensor, as events with which a reader may begin. For
 * the writer only; allocates with malloc.
 */
#ifndef MT_PRELOAD_LIVE_H
#define MT_PRELOAD_LIVE_H

#include "trace-format/model.h"

#include <stdbool.h>

struct mt_live;

struct mt_live *mt_live_create(void); /* NULL: no memory */
void mt_live_destroy(struct mt_live *live);

/* Take the next event of the trace. Return 0, or -ENOMEM: the live memory is unknown from then
 * on. */
int mt_live_event(struct mt_live *live, const struct mt_event *event);

/* Take instead an event of a block that comes and goes before anybody asks: an alloc, a free or a
 * label. */
void mt_live_pass(struct mt_live *live, const struct mt_event *event);

/* Take an alloc or a label that was passed, because its block is asked for after all. PyTorch's
 * totals stay as they are now. Return 0 or -ENOMEM. */
int mt_live_recall(struct mt_live *live, const struct mt_event *event);

/* Return whether a block of PyTorch's begins where the label is, or the label is nowhere. */
bool mt_live_has_block(struct mt_live *live, const struct mt_event *label);

/* Return whether a label says something new of its block, as far as labels are kept, or is of no
 * block. */
bool mt_live_is_news(struct mt_live *live, const struct mt_event *label);

/* Return whether readers of a light recording do not know where a node was made, and the stack;
 * they are told now. */
bool mt_live_find_node(struct mt_live *live, uint64_t address, uint32_t *stack);

/* Keep PyTorch's blocks of this event's device, which are at its peak now, when they are freed too,
 * until a higher peak. The event has PyTorch's totals. */
void mt_live_keep_peak(struct mt_live *live, const struct mt_event *event);

/* Call `each` with the events that make the live memory, and of the kept peaks, ordered by time,
 * until it returns other than 0. Return that, or -ENOMEM. */
int mt_live_each(struct mt_live *live, int (*each)(const struct mt_event *event));

#endif
