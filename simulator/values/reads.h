/* SPDX-License-Identifier: Apache-2.0 */
/* What a program learns from values, and whether it can rely on them. */
#ifndef SIM_READS_H
#define SIM_READS_H

#include "replaced.h"

/* If the operator reads a size, a condition or a number that depends on unknown values, report it.
 * counted: the host's kernel does the counting, if the operator counts. within: another operator
 * called this one. */
void sim_report_reads(const struct sim_replaced *op, const struct sim_value *arguments,
                      bool counted, bool within);

#endif
