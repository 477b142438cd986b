/* SPDX-License-Identifier: Apache-2.0 */
/* The options that an operator with SIM_CHOOSES (rules.h) chooses from. */
#ifndef SIM_CHOICES_H
#define SIM_CHOICES_H

#include "replaced.h"

/* Return the number of options, which is the size of the dimension; 0 if it does not choose. */
int64_t sim_choices(const struct sim_replaced *op, const struct sim_value *arguments);
/* Return how many it chooses for each row. */
int64_t sim_picks(const struct sim_replaced *op, const struct sim_value *arguments);
/* Return the option that the program set to 0, if the largest is chosen; -1: none. */
int64_t sim_known_zero(const struct sim_replaced *op, const struct sim_value *arguments);

#endif
