/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_PARSE_SIZE_H
#define SIM_PARSE_SIZE_H

#include <stdint.h>

/*
 * Reads a size as people type it: "24G", "141GiB", "512MiB", "80000MiB", "1.5g", "4096", "4096B".
 * Units are binary and case does not matter: K, M, G and T with nothing, "B" or "iB" behind them.
 * The whole text must be the size.
 *
 * Returns 0 and sets *bytes; -EINVAL when the text is no size (empty, signed, an unknown
 * unit, more text behind it) and -ERANGE when it does not fit 63 bits. *bytes is then untouched.
 */
int sim_parse_size(const char *text, uint64_t *bytes);

#endif
