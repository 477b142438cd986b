/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing for people: sizes, counts, text of unknown origin. All out buffers end up terminated.
 */
#ifndef MT_TEXT_H
#define MT_TEXT_H

#include "trace-format/safe-text.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Return a copy with U+FFFD in place of each invalid byte, to be freed by the caller; NULL: no
 * memory. */
char *mt_valid_copy(const char *text);

/* Abilities of the output. */
struct mt_style {
    bool utf8;
    bool colour;
    unsigned columns; /* 0: not a terminal */
};

/* Return "net.py" of "models/net.py"; a path that ends with a slash is returned unchanged. */
const char *mt_last_part(const char *path);

/* Append to a text in a buffer of `size` bytes, truncating what does not fit. */
__attribute__((format(printf, 3, 4))) void mt_text_append(char *out, size_t size,
                                                          const char *format, ...);

#define MT_SIZE_TEXT 32

/* Write "512 B", "1.50 KiB", "18.42 GiB". Return out. */
const char *mt_size_text(char out[MT_SIZE_TEXT], uint64_t bytes);

/* Write "1,234,567". Return out. */
const char *mt_count_text(char out[MT_SIZE_TEXT], uint64_t count);

/* Write "8.31 s", "1 h 02 min". Return out. */
const char *mt_time_text(char out[MT_SIZE_TEXT], uint64_t ns);

/* Write "device 0", "an unknown device". Return out. */
const char *mt_device_text(char out[MT_SIZE_TEXT], int device);

/* Copy untrusted text (safe-text.h) for a terminal: unsafe characters become '?', as do non-ASCII
 * characters if the style has no UTF-8, and a ':' at the start. At most `columns` characters (0:
 * all); longer text loses its beginning or its end. */
enum mt_cut { MT_CUT_BEGIN, MT_CUT_END };
void mt_safe_text(char *out, size_t size, const char *text, size_t columns, enum mt_cut cut,
                  const struct mt_style *style);

/* Write lines of text of at most `width` columns, unless a word is longer. Unsafe characters become
 * '?', as in mt_safe_text. */
void mt_put_wrapped(FILE *out, const char *text, unsigned width, const struct mt_style *style);
static inline void mt_put_lines(FILE *out, const struct mt_style *style, const char *text)
{
    mt_put_wrapped(out, text, 80, style);
}

/* The place where a foreign text is written. */
enum mt_text_for {
    MT_FOR_PLAIN,  /* a line of text in UTF-8 */
    MT_FOR_CSV,    /* a field between quotation marks; text that spreadsheets would evaluate gets a
                      leading ' */
    MT_FOR_FOLDED, /* a frame of a folded stack, between ';' */
    MT_FOR_MARKDOWN, /* a line, or a cell of a table */
    MT_FOR_CODE,     /* Markdown's code, between '`' */
    MT_FOR_XML,      /* content, or an attribute's value */
    MT_FOR_TOML,     /* a basic string, between quotation marks */
    MT_FOR_COMMAND,  /* the text of a command to GitHub's log */
    MT_FOR_PROPERTY, /* a property of one */
    MT_TEXT_PLACES,
};

/* Write the text so that it has no effect in this place: unsafe characters become '?', and special
 * characters are escaped. The caller writes the surrounding quotation marks. */
void mt_put_text(FILE *out, const char *text, enum mt_text_for place);

/* Write a word for a shell, quoted if necessary. */
void mt_put_word(FILE *out, const char *word);

/* Close a stream of open_memstream, after appending a terminator that its size includes. Return 0,
 * or -ENOMEM if the text is incomplete, which glibc does not report. */
int mt_close_memory(FILE *out);

/* Switch to one of the 256 colours, or back (colour 0). Write nothing if the style has no colours.
 */
void mt_colour(FILE *out, const struct mt_style *style, unsigned colour);

/* Print in such a colour; 0: no colour. */
__attribute__((format(printf, 4, 5))) void
mt_put_coloured(FILE *out, const struct mt_style *style, unsigned colour, const char *format, ...);

/* Print a category's label in its colour, padded to `width` columns. */
void mt_put_category(FILE *out, const struct mt_style *style, unsigned category, int width);

#endif
