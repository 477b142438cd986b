/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The patterns of rules, budgets and options. A rules file and a trace may both come from a
 * stranger, and a name has up to 60,000 bytes: no pattern costs more than text times its longest
 * piece between two '*', and a piece of plain characters only the text.
 */
#ifndef MT_GLOB_H
#define MT_GLOB_H

#include <stdbool.h>

#define MT_GLOB_MOST 1000u /* bytes of a pattern that a file of a stranger's may have */

/* Return whether the whole text matches the pattern: '*' stands for any bytes, '?' for one
 * character of UTF-8, [abc], [a-c] and [!abc] for one of these bytes, and what follows '\' for
 * itself. A '[' that nothing closes stands for itself. Any thread. */
bool mt_glob(const char *pattern, const char *text);

#endif
