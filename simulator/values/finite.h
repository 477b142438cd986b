/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unknown values count as finite. They read as zeros, so their logarithms and quotients would be
 * infinite, and a program that checks its loss would stop.
 */
#ifndef SIM_FINITE_H
#define SIM_FINITE_H

#include "torch.h"

/* Return whether all elements of these tensors, and of those in their lists, are finite. */
bool sim_are_finite(const struct sim_value *begin, const struct sim_value *end);
/* Set the elements of a host tensor that are not finite to zero. */
void sim_make_finite(void *tensor);

#endif
