/* SPDX-License-Identifier: Apache-2.0 */
/* Writes lines that are never wider than a screen. Colours take no room. */
#ifndef MT_PEN_H
#define MT_PEN_H

#include "analyzer/support/text.h"

struct mt_pen {
    FILE *out;
    const struct mt_style *style;
    unsigned columns, rows; /* of the screen */
    unsigned column, row;   /* position of the next character */
};

/* Write our own text, cut at the screen's edge. */
__attribute__((format(printf, 2, 3))) void mt_pen_put(struct mt_pen *pen, const char *format, ...);

/* Write foreign text in at most this many columns. */
void mt_pen_put_safe(struct mt_pen *pen, const char *text, unsigned columns, enum mt_cut cut);

/* Move forward to a column, unless already there or beyond. */
void mt_pen_go_to(struct mt_pen *pen, unsigned column);

void mt_pen_colour(struct mt_pen *pen, unsigned colour); /* as mt_colour */
void mt_pen_bold(struct mt_pen *pen);                    /* until mt_pen_colour(pen, 0) */

/* Draw a bar for `part` of `whole`, which takes this many columns. */
void mt_pen_bar(struct mt_pen *pen, uint64_t part, uint64_t whole, unsigned columns);

/* End the line. Return whether there is room for another. */
int mt_pen_end_line(struct mt_pen *pen);

/* Return the rows left, this one included. */
static inline unsigned mt_pen_room(const struct mt_pen *pen)
{
    return pen->row < pen->rows ? pen->rows - pen->row : 0;
}

#endif
