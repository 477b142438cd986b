/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing for people: sizes, counts, text of unknown origin. All out buffers end up terminated.
 */
#ifndef MT_TEXT_H
#define MT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What the output can show. */
struct mt_style {
    int utf8;
    int colour;
    unsigned columns; /* 0: not a terminal */
};

#define MT_SIZE_TEXT 32

/* "512 B", "1.50 KiB", "18.42 GiB". Returns out. */
const char *mt_size_text(char out[MT_SIZE_TEXT], uint64_t bytes);

/* "1,234,567". Returns out. */
const char *mt_count_text(char out[MT_SIZE_TEXT], uint64_t count);

/* "8.31 s", "1 h 02 min". Returns out. */
const char *mt_time_text(char out[MT_SIZE_TEXT], uint64_t ns);

/* "device 0", "an unknown device". Returns out. */
const char *mt_device_text(char out[MT_SIZE_TEXT], int device);

/* Copies text that a program chose (names, paths) so that it is safe on a terminal: what is no
 * printable character, or not UTF-8, becomes '?'; so does all that is not ASCII where the style has
 * no UTF-8. At most `columns` characters: longer text loses its begin, or its end. */
enum mt_cut { MT_CUT_BEGIN, MT_CUT_END };
void mt_safe_text(char *out, size_t size, const char *text, size_t columns, enum mt_cut cut,
                  const struct mt_style *style);

/* Bytes of the UTF-8 character at text; 0 where there is none that is valid. */
size_t mt_utf8_length(const char *text);

/* Switches to a colour of the 256 and back (colour 0); nothing where the style has none. */
void mt_colour(FILE *out, const struct mt_style *style, unsigned colour);

#endif
