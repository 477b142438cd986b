/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_ARCHITECTURE_H
#define MT_ARCHITECTURE_H

/* Return 1 if a file is a program or library for memtap's own machine type, 0 if for another, -1 if
 * it is neither or cannot be read. */
int mt_match_machine(const char *path);

#endif
