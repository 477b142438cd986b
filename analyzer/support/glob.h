/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of rules, budgets and options. A rules file and a trace may both be untrusted, and a
 * name has up to 60,000 bytes, so the cost is bounded: the text's length times the longest piece
 * between two '*', or only the text's length for a piece of plain characters.
 */
#ifndef MT_GLOB_H
#define MT_GLOB_H

#include <stdbool.h>

#define MT_GLOB_MOST 1000u /* most bytes of a pattern in an untrusted file */

/* Return whether the whole text matches the pattern: '*' matches any bytes, '?' one UTF-8
 * character, [abc], [a-c] and [!abc] one byte, and '\' escapes the next character. An unterminated
 * '[' matches itself. Thread-safe. */
bool mt_glob(const char *pattern, const char *text);

#endif
