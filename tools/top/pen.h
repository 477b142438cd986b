/* SPDX-License-Identifier: Apache-2.0 */
/* Writes lines that are never wider than a screen. Colours take no room. */
#ifndef MT_PEN_H
#define MT_PEN_H

#include "analyzer/support/text.h"

struct mt_pen {
    FILE *out;
    const struct mt_style *style;
    unsigned columns, rows; /* of the screen */
    unsigned column, row;   /* where the next character comes */
};

/* Text of ours: what does not fit is left out. */
__attribute__((format(printf, 2, 3))) void mt_pen_put(struct mt_pen *pen, const char *format, ...);

/* Text that somebody else chose, in at most so many columns. */
void mt_pen_put_safe(struct mt_pen *pen, const char *text, unsigned columns, enum mt_cut cut);

/* Moves on to a column, unless it is there or further already. */
void mt_pen_go_to(struct mt_pen *pen, unsigned column);

void mt_pen_colour(struct mt_pen *pen, unsigned colour); /* as mt_colour */
void mt_pen_bold(struct mt_pen *pen);                    /* until mt_pen_colour(pen, 0) */

/* A bar that is `part` of `whole` long, of so many columns. */
void mt_pen_bar(struct mt_pen *pen, uint64_t part, uint64_t whole, unsigned columns);

/* Ends the line; whether there is room for another one. */
int mt_pen_end_line(struct mt_pen *pen);

/* Rows that are left, this one included. */
static inline unsigned mt_pen_room(const struct mt_pen *pen)
{
    return pen->row < pen->rows ? pen->rows - pen->row : 0;
}

#endif
