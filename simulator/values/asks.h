/* SPDX-License-Identifier: Apache-2.0 */
/* What a program learns from values, and whether it can go by them. */
#ifndef SIM_ASKS_H
#define SIM_ASKS_H

#include "replaced.h"

/* Say so if the operator asks for a size, a condition or a number that hangs on values which are
 * not known. counted: the host's kernel counts, where it is an operator that counts. within:
 * another operator calls it. */
void sim_report_asked(const struct sim_replaced *op, const struct sim_value *arguments,
                      bool counted, bool within);

#endif
