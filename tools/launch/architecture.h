/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_ARCHITECTURE_H
#define MT_ARCHITECTURE_H

#include <stdbool.h>

/* Return 1 if a file is a program or library for memtap's own machine type, 0 if for another, -1 if
 * it is neither or cannot be read. */
int mt_match_machine(const char *path);

/* Return whether a file is a program for another C library than ours, musl's: its loader cannot
 * load memtap's library, and ends the program. */
bool mt_is_of_musl(const char *path);

#endif
