/* SPDX-License-Identifier: Apache-2.0 */
/* How a router loads its experts, in a launcher's words. */
#ifndef SIM_SKEW_H
#define SIM_SKEW_H

#include <stddef.h>

enum { SIM_MAX_EXPERTS = 999 };

/*
 * Read `even`, `zipf:S` (the load of expert i is (i + 1) to the power of -S) or the name of a file
 * with one load for each expert. Return the value for CUDASIM_SKEW, which the caller frees: the
 * loads with commas between. NULL: what is wrong stands in why.
 */
char *sim_skew_read(const char *text, char *why, size_t why_size);

#endif
