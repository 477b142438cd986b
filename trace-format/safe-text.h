/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that somebody else chose (names of functions, files and programs, command lines, paths,
 * variables) may act where it is printed: move a terminal's cursor, turn a line around, begin a
 * line or a command of its own. What follows tells what of it may be shown. Allocates nothing.
 */
#ifndef MT_SAFE_TEXT_H
#define MT_SAFE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the UTF-8 character at text; 0 where there is none that is valid. */
size_t mt_utf8_length(const char *text);

/* The number of a valid character of that many bytes. */
uint32_t mt_utf8_number(const char *text, size_t length);

/*
 * Bytes of the next character, 0 at the end. *is_safe: it can be shown as it is. Not safe are bytes
 * that are no UTF-8, control characters (of 7 bits, and U+0080 to U+009F), what turns text around
 * (bidirectional controls) or ends a line (U+2028, U+2029), what nobody sees but programs do
 * (U+200B, U+2060 to U+206F, U+FEFF, tags), what is no character (U+FFFE, and so XML has none), and
 * the first '#' of "##[" and "##vso[", which are commands to a CI's log wherever they stand.
 */
size_t mt_safe_next(const char *text, int *is_safe);

/* The ':' that the text begins with, spaces aside; NULL: there is none. At the begin of a line, "::"
 * is a command to GitHub's log. */
const char *mt_safe_colon(const char *text);

/* Puts a '?' in the place of what is not safe, and of all that is not ASCII where has_utf8 is 0;
 * the text gets no longer. */
void mt_safe_in_place(char *text, int has_utf8);

#endif
