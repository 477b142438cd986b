/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest card on which a run would have been served all that it asked for, by replays. */
#ifndef MT_FIT_NEED_H
#define MT_FIT_NEED_H

#include "planner/requests/gather.h"

struct mt_definitions;

/* Bytes of a card, context included, to within 2 MiB, between `low` and `high`: what the card has
 * to have at least, and what is enough. 0: not known, as of a run whose requests were not all
 * recorded. */
uint64_t mt_run_need(const struct mt_asked *asked, const struct mt_definitions *definitions,
                     uint64_t low, uint64_t high);

#endif
