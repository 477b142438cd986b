/* SPDX-License-Identifier: Apache-2.0 */
/* Draw memtap top's display: as many lines as the screen has, or all lines without a screen. */
#ifndef MT_DRAW_H
#define MT_DRAW_H

#include <stdbool.h>

#include "analyzer/support/text.h"
#include "watch.h"

struct mt_top_view {
    const struct mt_top *traces;
    size_t n, chosen;       /* chosen: the trace that is shown in full */
    unsigned columns, rows; /* rows 0: as text, with no keys */
    const struct mt_style *style;
    unsigned scroll; /* lines of the table above the first shown line */
    int category;    /* show only its lines; -1: all */
    bool is_paused, has_help;
};

void mt_top_draw(const struct mt_top_view *view, FILE *out);

/* Write "live" or "ended: killed by signal 9 (SIGKILL)". Return out. */
#define MT_TOP_STATE (MT_ENDED_TEXT + 32)
const char *mt_top_state(char out[MT_TOP_STATE], const struct mt_top *trace);

/* A writer of lines that never exceed the screen's width. Colours use no columns. */

struct mt_pen {
    FILE *out;
    const struct mt_style *style;
    unsigned columns, rows; /* of the screen */
    unsigned column, row;   /* position of the next character */
};

/* Write our own text, cut at the edge of the screen. */
__attribute__((format(printf, 2, 3))) void mt_pen_put(struct mt_pen *pen, const char *format, ...);

/* Write untrusted text in at most this many columns. */
void mt_pen_put_safe(struct mt_pen *pen, const char *text, unsigned columns, enum mt_cut cut);

/* Move forward to a column, unless already there or beyond. */
void mt_pen_go_to(struct mt_pen *pen, unsigned column);

void mt_pen_colour(struct mt_pen *pen, unsigned colour); /* as mt_colour */
void mt_pen_bold(struct mt_pen *pen);                    /* until mt_pen_colour(pen, 0) */

/* Draw a bar for `part` of `whole`, which fills this many columns. */
void mt_pen_bar(struct mt_pen *pen, uint64_t part, uint64_t whole, unsigned columns);

/* End the line. Return whether there is room for another. */
int mt_pen_end_line(struct mt_pen *pen);

/* Return the rows left, this one included. */
static inline unsigned mt_pen_room(const struct mt_pen *pen)
{
    return pen->row < pen->rows ? pen->rows - pen->row : 0;
}

#endif
