/* SPDX-License-Identifier: Apache-2.0 */
/* What a program learns from values, and whether it can rely on them. */
#ifndef SIM_READS_H
#define SIM_READS_H

#include "replaced.h"

/* Report if the operator reads a size, a condition or a number that depends on unknown values.
 * counted: the host's kernel counts, if it is an operator that counts. within: another operator
 * calls it. */
void sim_report_reads(const struct sim_replaced *op, const struct sim_value *arguments,
                      bool counted, bool within);

#endif
