/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign text (names of functions, files and programs, command lines, paths, variables) can act
 * where it is printed: move a terminal's cursor, reverse a line, start a new line or a command.
 * These functions tell which characters are safe to print. They allocate nothing.
 */
#ifndef MT_SAFE_TEXT_H
#define MT_SAFE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return the length in bytes of the UTF-8 character at text; 0 if it is invalid. */
size_t mt_utf8_length(const char *text);

/* Return the code point of a valid character of that many bytes. */
uint32_t mt_utf8_number(const char *text, size_t length);

/*
 * Return the length of the next character in bytes, 0 at the end. *is_safe: it can be printed
 * unchanged. Unsafe are invalid UTF-8, control characters (7 bits, and U+0080 to U+009F),
 * characters that reverse text (bidirectional controls) or end a line (U+2028, U+2029), invisible
 * ones (U+200B, U+2060 to U+206F, U+FEFF, tags), noncharacters (U+FFFE, which XML forbids), and the
 * first '#' of
 * "##[" and "##vso[", which CI systems take for commands anywhere in a log.
 */
size_t mt_safe_next(const char *text, bool *is_safe);

/* Return the ':' that the text begins with after optional spaces; NULL if there is none. At the
 * start of a line, "::" is a command in GitHub's log. */
const char *mt_safe_colon(const char *text);

/* Replace each unsafe character by '?', and without has_utf8 each one outside ASCII. The text does
 * not grow. */
void mt_safe_in_place(char *text, bool has_utf8);

#endif
