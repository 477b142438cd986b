/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that somebody else chose (names of functions, files and programs, command lines, paths,
 * variables) may act where it is printed: move a terminal's cursor, reverse a line, begin a line
 * or a command. These functions say which characters may be shown. They allocate nothing.
 */
#ifndef MT_SAFE_TEXT_H
#define MT_SAFE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return the bytes of the UTF-8 character at text; 0 if it is invalid. */
size_t mt_utf8_length(const char *text);

/* Return the code point of a valid character of that many bytes. */
uint32_t mt_utf8_number(const char *text, size_t length);

/*
 * Return the bytes of the next character, 0 at the end. *is_safe: it can be shown as it is. Unsafe
 * are invalid UTF-8, control characters (of 7 bits, and U+0080 to U+009F), characters that reverse
 * text (bidirectional controls) or end a line (U+2028, U+2029), invisible ones (U+200B, U+2060 to
 * U+206F, U+FEFF, tags), noncharacters (U+FFFE, which XML forbids), and the first '#' of "##[" and
 * "##vso[", which are commands to a CI's log anywhere.
 */
size_t mt_safe_next(const char *text, bool *is_safe);

/* Return the ':' with which the text begins, spaces aside; NULL: there is none. At the beginning of
 * a line, "::" is a command to GitHub's log. */
const char *mt_safe_colon(const char *text);

/* Replace each unsafe character by '?', and without has_utf8 each one that is not ASCII. The text
 * gets no longer. */
void mt_safe_in_place(char *text, bool has_utf8);

#endif
