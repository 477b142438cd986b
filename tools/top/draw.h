/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the pictures of memtap top: as many lines as the screen has, or all lines without a
 * screen. */
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

#endif
