/* SPDX-License-Identifier: Apache-2.0 */
/* The table of address ranges: sorted by start, no two overlap. Everything needs the lock. */
#ifndef SIM_RANGE_H
#define SIM_RANGE_H

#include "memory.h"

void sim_range_lock(void);
void sim_range_unlock(void);
/* Add a range and give it its id. -EEXIST: it overlaps another; -ENOMEM. */
int sim_range_add(struct sim_range range);
/* Return the range that holds the address, or NULL. Valid until the table changes. */
struct sim_range *sim_range_at(uintptr_t address);
void sim_range_remove(struct sim_range *range);
/* The ranges in order: 0 .. until NULL. */
struct sim_range *sim_range_number(size_t index);

#endif
