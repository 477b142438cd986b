/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unknown values are finite. They read as zeros, so that a logarithm or a quotient of them would be
 * infinite, and a program that checks its loss would stop.
 */
#ifndef SIM_FINITE_H
#define SIM_FINITE_H

#include "torch.h"

/* Return whether all elements of these tensors, and of those in their lists, are finite. */
bool sim_are_finite(const struct sim_value *begin, const struct sim_value *end);
/* Make the elements of a tensor of the host that are not finite zero. */
void sim_make_finite(void *tensor);

#endif
