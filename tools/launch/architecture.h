/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_ARCHITECTURE_H
#define MT_ARCHITECTURE_H

/* Whether a file is a program or library for the machine that memtap itself is for: 1; 0 for
 * another one; -1 where it is none or cannot be read. */
int mt_match_machine(const char *path);

#endif
