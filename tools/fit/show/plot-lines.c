/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of several lines: the largest value of each, by card; where none is searched, what
 * part of the card it takes. */
#include "plot.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* What stands for a card on a line: the largest value; without a searched one, what part it takes.
 */
static double height_of(const struct mt_fit *fit, size_t line, size_t card)
{
    size_t largest = mt_search_largest(mt_fit_search(fit, line, card));
    const struct mt_outcome *best = mt_fit_best(fit, line, card);
    if (largest == MT_NONE)
        return 0;
    return fit->job->searched >= 0 ? (double)mt_plot_value(fit->job, largest)
                                   : 100 * (double)best->used / (double)fit->job->card[card].memory;
}

/* A row for each variable, with its name at the left. Long values lose their begin. */
static void draw_line_names(const struct mt_plot *plot)
{
    char room[MT_VALUE_TEXT], text[40];
    const struct mt_job *job = plot->fit->job;
    double y = MT_PLOT_BOTTOM + 20;
    size_t most = (size_t)((MT_PLOT_RIGHT - MT_PLOT_LEFT) / (double)job->n_lines / 7);
    most = most < 4 ? 4 : most > sizeof text - 3 ? sizeof text - 3 : most;
    for (size_t i = 0; i < job->n_variables; i++) {
        if ((int)i == job->searched)
            continue;
        snprintf(text, sizeof text, "%.22s", job->variable[i].name);
        mt_svg_text(plot->out, MT_PLOT_RIGHT + 12, y, MT_SVG_START, 0, MT_PLOT_FAINT, text);
        for (size_t line = 0; line < job->n_lines; line++) {
            const char *value = mt_variable_text(
                &job->variable[i], mt_job_value(job, (struct mt_choice){line, 0}, i), room);
            size_t n = strlen(value);
            snprintf(text, sizeof text, "%s%s", n > most ? "\u2026" : "",
                     n > most ? value + n - most + 1
                     : *value ? value
                              : "\u2013");
            mt_svg_text(plot->out, mt_plot_x(plot, (double)line), y, MT_SVG_MIDDLE, 0, MT_PLOT_INK,
                        text);
        }
        y += MT_PLOT_ROW;
    }
    mt_svg_line(plot->out, MT_PLOT_LEFT, MT_PLOT_BOTTOM, MT_PLOT_RIGHT, MT_PLOT_BOTTOM,
                MT_PLOT_FAINT, 1);
}

/* Points are joined only where a number grows from one to the next. */
static bool is_joined(const struct mt_job *job)
{
    uint64_t number, before = 0;
    for (size_t i = 0; i < job->n_variables; i++)
        for (size_t at = 0; (int)i != job->searched && at < job->variable[i].n;
             before = number, at++)
            if (job->variable[i].n != job->n_lines ||
                !mt_variable_number(&job->variable[i], at, &number) || (at && number <= before))
                return 0;
    return 1;
}

static void draw_stroke(const struct mt_plot *plot, size_t card)
{
    char title[400], values[300], text[32];
    const struct mt_fit *fit = plot->fit;
    double aside =
        ((double)card - (double)(fit->job->n_cards - 1) / 2) * (is_joined(fit->job) ? 0 : 12);
    for (size_t line = 0; line < fit->job->n_lines; line++) {
        double height = height_of(fit, line, card), x = mt_plot_x(plot, (double)line) + aside;
        mt_choice_text(fit->job, (struct mt_choice){line, 0}, MT_CHOICE_LINE, values,
                       sizeof values);
        snprintf(text, sizeof text, fit->job->searched >= 0 ? "%.0f" : "%.1f %%", height);
        snprintf(title, sizeof title, "%s, %s: %s", fit->job->card[card].gpu->name, values, text);
        if (line && is_joined(fit->job))
            mt_svg_line(plot->out, mt_plot_x(plot, (double)line - 1),
                        mt_plot_y(plot, height_of(fit, line - 1, card)), x, mt_plot_y(plot, height),
                        mt_svg_colour(card), 1.5);
        if (!mt_fit_best(fit, line, card)) {
            mt_svg_cross(plot->out, x, mt_plot_y(plot, 0), mt_svg_colour(card), title);
            continue;
        }
        mt_svg_dot(plot->out, x, mt_plot_y(plot, height), mt_svg_colour(card), title);
        mt_svg_text(plot->out, x, mt_plot_y(plot, height) - 8, MT_SVG_MIDDLE, 0,
                    mt_svg_colour(card), text);
    }
}

/* Of a command as it is, on every card: a bar each. */
static void draw_bars(const struct mt_plot *plot)
{
    char text[32];
    const struct mt_job *job = plot->fit->job;
    double width = (MT_PLOT_RIGHT - MT_PLOT_LEFT) / (double)job->n_cards * 0.6;
    for (size_t card = 0; card < job->n_cards; card++) {
        double height = height_of(plot->fit, 0, card), x = mt_plot_x(plot, (double)card);
        bool fits = mt_fit_best(plot->fit, 0, card) != NULL;
        if (fits)
            mt_svg_box(plot->out, x - width / 2, mt_plot_y(plot, height), width,
                       MT_PLOT_BOTTOM - mt_plot_y(plot, height), mt_svg_colour(0), "none");
        else
            mt_svg_cross(plot->out, x, MT_PLOT_BOTTOM - 8, MT_PLOT_BAD, job->card[card].gpu->name);
        snprintf(text, sizeof text, "%.0f %%", height);
        if (fits)
            mt_svg_text(plot->out, x, mt_plot_y(plot, height) - 5, MT_SVG_MIDDLE, 0, MT_PLOT_INK,
                        text);
        mt_svg_text(plot->out, x + (job->n_cards > 6 ? 8 : 0), MT_PLOT_BOTTOM + 20,
                    job->n_cards > 6 ? MT_SVG_END : MT_SVG_MIDDLE, job->n_cards > 6 ? -30 : 0,
                    MT_PLOT_INK, job->card[card].gpu->name);
    }
    mt_svg_line(plot->out, MT_PLOT_LEFT, MT_PLOT_BOTTOM, MT_PLOT_RIGHT, MT_PLOT_BOTTOM,
                MT_PLOT_FAINT, 1);
}

void mt_plot_cards(struct mt_plot *plot)
{
    plot->first = -0.5;
    plot->last = (double)plot->fit->job->n_cards - 0.5;
    plot->most = 108;
    mt_plot_title(plot, "part of each card's memory that it takes (crosses: it does not fit)");
    mt_plot_levels(plot, " %");
    draw_bars(plot);
}

void mt_plot_lines(struct mt_plot *plot)
{
    const struct mt_fit *fit = plot->fit;
    const struct mt_job *job = fit->job;
    char name[MT_MOST_FIT_CARDS][64],
        what[160] = "part of the card that each line takes (crosses: it does not fit)";
    double y[MT_MOST_FIT_CARDS], most = 1;
    for (size_t card = 0; card < job->n_cards; card++)
        for (size_t line = 0; line < job->n_lines; line++)
            most = fmax(most, height_of(fit, line, card));
    plot->first = -0.5;
    plot->last = (double)job->n_lines - 0.5;
    plot->most = most * 1.08;
    if (job->searched >= 0)
        snprintf(what, sizeof what, "the largest %s that fits (crosses: none does)",
                 job->variable[job->searched].name);
    mt_plot_title(plot, what);
    mt_plot_levels(plot, job->searched >= 0 ? "" : " %");
    draw_line_names(plot);
    for (size_t card = 0; card < job->n_cards; card++) {
        draw_stroke(plot, card);
        y[card] = mt_plot_y(plot, height_of(fit, job->n_lines - 1, card));
        snprintf(name[card], sizeof name[card], "%s", job->card[card].gpu->name);
    }
    mt_plot_names(plot, y, (const char(*)[64])name, job->n_cards);
}
