/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of one line: what each run took, by the value that is searched, and the cards as
 * levels. */
#include "plot.h"

#include <inttypes.h>
#include <math.h>

#define GIB ((double)((uint64_t)1 << 30))

static void find_ranges(struct mt_plot *plot)
{
    const struct mt_fit *fit = plot->fit;
    double most = 0;
    plot->first = (double)mt_plot_value(fit->job, 0);
    plot->last = plot->first;
    for (size_t i = 0; i < fit->job->n_cards; i++) {
        const struct mt_card_search *search = mt_fit_search(fit, 0, i);
        size_t at = search->fails != MT_NONE ? search->fails : mt_search_largest(search);
        double value = at == MT_NONE ? 0 : (double)mt_plot_value(fit->job, at);
        plot->last = value > plot->last ? value : plot->last;
        most = (double)fit->job->card[i].memory > most ? (double)fit->job->card[i].memory : most;
    }
    plot->last += plot->last > plot->first ? (plot->last - plot->first) / 12 : 1;
    plot->most = most / GIB * 1.08;
}

static void draw_run(const struct mt_plot *plot, const struct mt_attempt *attempt)
{
    char values[300], size[MT_SIZE_TEXT], title[420];
    const struct mt_fit *fit = plot->fit;
    const struct mt_outcome *outcome = attempt->outcome;
    double value = (double)mt_plot_value(fit->job, attempt->choice.at);
    double used = (double)outcome->used / GIB,
           memory = (double)fit->job->card[attempt->card].memory / GIB;
    const char *card =
        attempt->is_huge ? "unlimited card" : fit->job->card[attempt->card].gpu->name;
    mt_choice_text(fit->job, attempt->choice, MT_CHOICE_ALL, values, sizeof values);
    if (value > plot->last)
        return;
    if (outcome->end == MT_FIT_FULL && !attempt->is_huge) {
        snprintf(title, sizeof title, "%s, %s: does not fit", card, values);
        mt_svg_cross(plot->out, mt_plot_x(plot, value), mt_plot_y(plot, memory), MT_PLOT_BAD,
                     title);
    } else if (outcome->end == MT_FIT_FITS && used <= plot->most) {
        snprintf(title, sizeof title, "%s, %s: %s", card, values,
                 mt_size_text(size, outcome->used));
        mt_svg_dot(plot->out, mt_plot_x(plot, value), mt_plot_y(plot, used),
                   attempt->is_huge ? MT_PLOT_FAINT : mt_svg_colour(attempt->card), title);
    }
}

static void draw_values(const struct mt_plot *plot, const char *name)
{
    char text[64];
    double tick = mt_svg_tick(plot->last - plot->first);
    tick = tick < 1 ? 1 : tick;
    for (double at = ceil(plot->first / tick) * tick; at <= plot->last; at += tick) {
        mt_svg_line(plot->out, mt_plot_x(plot, at), MT_PLOT_BOTTOM, mt_plot_x(plot, at),
                    MT_PLOT_BOTTOM + 5, MT_PLOT_FAINT, 1);
        snprintf(text, sizeof text, "%g", at);
        mt_svg_text(plot->out, mt_plot_x(plot, at), MT_PLOT_BOTTOM + 20, MT_SVG_MIDDLE, 0,
                    MT_PLOT_FAINT, text);
    }
    mt_svg_line(plot->out, MT_PLOT_LEFT, MT_PLOT_BOTTOM, MT_PLOT_RIGHT, MT_PLOT_BOTTOM,
                MT_PLOT_FAINT, 1);
    mt_svg_text(plot->out, (MT_PLOT_LEFT + MT_PLOT_RIGHT) / 2, MT_PLOT_BOTTOM + 44, MT_SVG_MIDDLE,
                0, MT_PLOT_INK, name);
}

static void draw_card(const struct mt_plot *plot, size_t card, char name[64])
{
    char value[32];
    const struct mt_job *job = plot->fit->job;
    double memory = (double)job->card[card].memory / GIB;
    size_t largest = mt_search_largest(mt_fit_search(plot->fit, 0, card));
    mt_svg_dashes(plot->out, MT_PLOT_LEFT, mt_plot_y(plot, memory), MT_PLOT_RIGHT,
                  mt_plot_y(plot, memory), mt_svg_colour(card));
    if (largest == MT_NONE) {
        snprintf(name, 64, "%s: none fits", job->card[card].gpu->name);
        return;
    }
    double x = mt_plot_x(plot, (double)mt_plot_value(job, largest));
    mt_svg_dashes(plot->out, x, mt_plot_y(plot, memory), x, MT_PLOT_BOTTOM, mt_svg_colour(card));
    snprintf(value, sizeof value, "%" PRIu64, mt_plot_value(job, largest));
    snprintf(name, 64, "%s: %s", job->card[card].gpu->name, value);
}

/* Through all runs that fit; a context is on top of what the estimate has. */
static void draw_curve(const struct mt_plot *plot)
{
    const struct mt_estimate *estimate = &plot->fit->line[0].estimate;
    double context = (double)plot->fit->job->card[0].gpu->context;
    for (size_t i = 1; i < estimate->n; i++) {
        double from = (double)estimate->point[i - 1].value, to = (double)estimate->point[i].value;
        double low = ((double)estimate->point[i - 1].used + context) / GIB;
        double high = ((double)estimate->point[i].used + context) / GIB;
        if (to <= plot->last && high <= plot->most)
            mt_svg_line(plot->out, mt_plot_x(plot, from), mt_plot_y(plot, low), mt_plot_x(plot, to),
                        mt_plot_y(plot, high), "#c4c4c4", 1.5);
    }
}

void mt_plot_one_line(struct mt_plot *plot)
{
    const struct mt_fit *fit = plot->fit;
    char name[MT_MOST_FIT_CARDS][64];
    double y[MT_MOST_FIT_CARDS];
    find_ranges(plot);
    mt_plot_title(
        plot,
        "what runs took of a card (dots), runs that did not fit (crosses), and the cards' memory");
    mt_plot_levels(plot, " GiB");
    draw_values(plot, fit->job->variable[fit->job->searched].name);
    for (size_t i = 0; i < fit->job->n_cards; i++) {
        draw_card(plot, i, name[i]);
        y[i] = mt_plot_y(plot, (double)fit->job->card[i].memory / GIB);
    }
    draw_curve(plot);
    for (size_t i = 0; i < fit->n_attempts; i++)
        draw_run(plot, &fit->attempt[i]);
    mt_plot_names(plot, y, (const char(*)[64])name, fit->job->n_cards);
}
