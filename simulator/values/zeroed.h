/* SPDX-License-Identifier: Apache-2.0 */
/* The element that a program last set to 0 among values that are not known. */
#ifndef SIM_ZEROED_H
#define SIM_ZEROED_H

#include "replaced.h"

/* Note a call of `op`, before it: it may set an element to 0, or write over the one noted. */
void sim_note_zeroed(const struct sim_replaced *op, const struct sim_value *arguments);
/* Note results: new content of a storage makes the element unknown again. */
void sim_forget_zeroed(const struct sim_value *results, size_t n);
/* Return the index of the noted element along a dimension of a tensor, -1 being all of a dense
 * tensor; -1: it has none. */
int64_t sim_zeroed_index(const void *tensor, int64_t dimension);

#endif
