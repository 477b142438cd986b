/* SPDX-License-Identifier: Apache-2.0 */
/* The live blocks with their uses, from the events in time order. For the writer only; allocates
 * with malloc. */
#ifndef MT_USES_USED_BLOCKS_H
#define MT_USES_USED_BLOCKS_H

#include "trace-format/model.h"

#include <stdbool.h>

struct mt_used_blocks;

struct mt_used_blocks *mt_used_blocks_create(void); /* NULL: no memory */
void mt_used_blocks_destroy(struct mt_used_blocks *blocks);

#define MT_USES_OF_BLOCK 4u

/*
 * Process the next event. Return how many events of what the trace is to have in front of it were
 * written to out: the uses of a block that it frees. *is_hidden: the event itself is not for the
 * trace. Without memory, some blocks are not known.
 */
unsigned mt_used_blocks_event(struct mt_used_blocks *blocks, const struct mt_event *event,
                              struct mt_event out[static MT_USES_OF_BLOCK], bool *is_hidden);

/* Call `each` with the uses so far of each live block, as of a moment. */
void mt_used_blocks_each(struct mt_used_blocks *blocks, uint64_t time_ns,
                         void (*each)(struct mt_event *event, unsigned n));

#endif
