/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is live, for a trace that forgets its past (MEMTAP_KEEP): the allocations that have not been
 * freed, each with what autograd has said of its tensor, as events that a reader may begin with.
 * Used by the writer only; allocates with malloc.
 */
#ifndef MT_PRELOAD_LIVE_H
#define MT_PRELOAD_LIVE_H

#include "trace-format/model.h"

struct mt_live;

struct mt_live *mt_live_create(void); /* NULL: no memory */
void mt_live_destroy(struct mt_live *live);

/* The next event of the trace: 0, or -ENOMEM and what is live is not known any more. */
int mt_live_event(struct mt_live *live, const struct mt_event *event);

/* Gives the events that make what is live now, in the order of their times, to `each`, until that
 * returns other than 0. Returns that, or -ENOMEM. */
int mt_live_each(struct mt_live *live, int (*each)(const struct mt_event *event));

#endif
