/* SPDX-License-Identifier: Apache-2.0 */
/* What the pictures of memtap fit share: axes, levels, names. */
#ifndef MT_FIT_PLOT_H
#define MT_FIT_PLOT_H

#include "show.h"
#include "svg.h"

#define MT_PLOT_WIDTH 860
#define MT_PLOT_HEIGHT 460
#define MT_PLOT_ROW 18 /* of what stands below the axis */
#define MT_PLOT_LEFT 70.0
#define MT_PLOT_RIGHT 690.0 /* what is right of it names the cards */
#define MT_PLOT_TOP 46.0
#define MT_PLOT_BOTTOM 400.0
#define MT_PLOT_INK "#222222"
#define MT_PLOT_FAINT "#666666"
#define MT_PLOT_BAD "#b3243f"

struct mt_plot {
    FILE *out;
    const struct mt_fit *fit;
    double first, last, most; /* values at the left and the right; at the top */
};

double mt_plot_x(const struct mt_plot *plot, double value);
double mt_plot_y(const struct mt_plot *plot, double value);

/* The number of a value that is searched; 0 where none is. */
uint64_t mt_plot_value(const struct mt_job *job, size_t position);

/* Lines at round numbers, with their unit. */
void mt_plot_levels(const struct mt_plot *plot, const char *unit);

/* The command, and what is shown of it. */
void mt_plot_title(const struct mt_plot *plot, const char *what);

/* Of each card, at the right, near to its height there. */
void mt_plot_names(const struct mt_plot *plot, const double *y, const char (*name)[64], size_t n);

/* The pictures: of one line, of several, and of a command that has no variables. */
void mt_plot_one_line(struct mt_plot *plot);
void mt_plot_lines(struct mt_plot *plot);
void mt_plot_cards(struct mt_plot *plot);

#endif
