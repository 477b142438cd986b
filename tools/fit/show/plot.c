/* SPDX-License-Identifier: Apache-2.0 */
#include "plot.h"

#include <string.h>

#define GRID "#e3e3e3"

double mt_plot_x(const struct mt_plot *plot, double value)
{
    double from = plot->first, to = plot->last;
    return MT_PLOT_LEFT +
           (to > from ? (value - from) / (to - from) : 0.5) * (MT_PLOT_RIGHT - MT_PLOT_LEFT);
}

double mt_plot_y(const struct mt_plot *plot, double value)
{
    return MT_PLOT_BOTTOM - value / plot->most * (MT_PLOT_BOTTOM - MT_PLOT_TOP);
}

uint64_t mt_plot_value(const struct mt_job *job, size_t position)
{
    uint64_t value = 0;
    if (job->searched >= 0)
        mt_variable_number(&job->variable[job->searched], position, &value);
    return value;
}

void mt_plot_levels(const struct mt_plot *plot, const char *unit)
{
    char text[64];
    double tick = mt_svg_tick(plot->most);
    for (double at = 0; at <= plot->most; at += tick) {
        mt_svg_line(plot->out, MT_PLOT_LEFT, mt_plot_y(plot, at), MT_PLOT_RIGHT,
                    mt_plot_y(plot, at), GRID, 1);
        snprintf(text, sizeof text, "%g%s", at, unit);
        mt_svg_text(plot->out, MT_PLOT_LEFT - 8, mt_plot_y(plot, at) + 4, MT_SVG_END, 0,
                    MT_PLOT_FAINT, text);
    }
}

void mt_plot_title(const struct mt_plot *plot, const char *what)
{
    const struct mt_job *job = plot->fit->job;
    char text[160];
    size_t used = 0;
    for (size_t i = 0; i < job->n_words && used < sizeof text - 1; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "", job->words[i]);
    if (used >= sizeof text)
        memcpy(text + sizeof text - 4, "...", 4);
    mt_svg_text(plot->out, MT_PLOT_LEFT, 18, MT_SVG_START, 0, MT_PLOT_INK, text);
    mt_svg_text(plot->out, MT_PLOT_LEFT, 36, MT_SVG_START, 0, MT_PLOT_FAINT, what);
}

/* Names at the right do not cover each other. */
void mt_plot_names(const struct mt_plot *plot, const double *y, const char (*name)[64], size_t n)
{
    double at[MT_MOST_FIT_CARDS], least = MT_PLOT_TOP - 6;
    size_t order[MT_MOST_FIT_CARDS];
    for (size_t i = 0; i < n; i++) {
        size_t j = i;
        for (; j && y[order[j - 1]] > y[i]; j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
    for (size_t i = 0; i < n; i++) {
        at[order[i]] = y[order[i]] < least ? least : y[order[i]];
        least = at[order[i]] + 15;
    }
    double below = least - 15 > MT_PLOT_BOTTOM ? least - 15 - MT_PLOT_BOTTOM : 0;
    for (size_t i = n; below > 0 && i-- > 0;) { /* up, as far as there is no room */
        size_t name_above = order[i];
        at[name_above] -= below;
        if (i && at[order[i - 1]] + 15 <= at[name_above])
            below = 0;
        else if (i)
            below = at[order[i - 1]] + 15 - at[name_above];
    }
    for (size_t i = 0; i < n; i++)
        mt_svg_text(plot->out, MT_PLOT_RIGHT + 12, at[i] + 4, MT_SVG_START, 0, mt_svg_colour(i),
                    name[i]);
}
