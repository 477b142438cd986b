/* SPDX-License-Identifier: Apache-2.0 */
/* Among what an operator of SIM_CHOOSES chooses (rules.h). */
#ifndef SIM_CHOICES_H
#define SIM_CHOICES_H

#include "replaced.h"

/* Count the things among which it chooses: the size of its dimension. 0: it does not. */
int64_t sim_choices(const struct sim_replaced *op, const struct sim_value *arguments);
/* Return how many of them it chooses for each row. */
int64_t sim_picks(const struct sim_replaced *op, const struct sim_value *arguments);
/* Return the one that the program set to 0, if the largest is chosen; -1: none. */
int64_t sim_known_zero(const struct sim_replaced *op, const struct sim_value *arguments);

#endif
