/* SPDX-License-Identifier: Apache-2.0 */
/* Draw what fits as SVG. For one line: the memory of each run by the searched value, with the cards
 * as levels. For several lines: the largest value of each, or the part of the card that it uses.
 * Without variables: the cards side by side. */
#include "analyzer/support/new-file.h"
#include "show.h"

#include <math.h>
#include <string.h>

#define WIDTH 860
#define HEIGHT 460
#define ROW 18 /* height of the labels below the axis */
#define LEFT 70.0
#define RIGHT 690.0 /* right of it are the cards' names */
#define TOP 46.0
#define BOTTOM 400.0
#define NARROW 44 /* height of a line of text */
#define INK "#222222"
#define FAINT "#666666"
#define BAD "#b3243f"
#define GIB ((double)((uint64_t)1 << 30))

struct plot {
    FILE *out;
    const struct mt_fit_answers *answers;
    const struct mt_job *job;
    double first, last, most; /* values at the left, the right and the top */
};

struct name {
    char text[64];
    double y;
};

/* --- shapes ----------------------------------------------------------------------------------- */

static double x_of(const struct plot *plot, double value)
{
    double from = plot->first, to = plot->last;
    return LEFT + (to > from ? (value - from) / (to - from) : 0.5) * (RIGHT - LEFT);
}

static double y_of(const struct plot *plot, double value)
{
    return BOTTOM - value / plot->most * (BOTTOM - TOP);
}

/* Return a card's colour; all differ. */
static const char *colour_of(size_t card)
{
    static const char *const colours[] = {"#1f6fb4", "#c2571a", "#2a8a4a", "#9a3fa0", "#8a6d00",
                                          "#b3243f", "#00808a", "#5a5ac8", "#6b6b6b"};
    return colours[card % (sizeof colours / sizeof *colours)];
}

/* Return a round number that divides `most` into about five parts. */
static double tick_of(double most)
{
    double unit = pow(10, floor(log10(most > 0 ? most / 5 : 1))), steps = most / 5 / unit;
    return unit * (steps < 1.5 ? 1 : steps < 3.5 ? 2 : steps < 7.5 ? 5 : 10);
}

/* Draw a line. style: "stroke-width" or "stroke-dasharray" with its value. */
static void draw_line(const struct plot *plot, double x1, double y1, double x2, double y2,
                      const char *colour, const char *style)
{
    fprintf(plot->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" %s/>\n",
            x1, y1, x2, y2, colour, style);
}

#define THIN "stroke-width=\"1\""
#define BOLD "stroke-width=\"1.5\""
#define DASHED "stroke-dasharray=\"4 3\""

static void draw_text(const struct plot *plot, double x, double y, const char *anchor,
                      const char *colour, const char *text)
{
    fprintf(plot->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">", x, y, anchor,
            colour);
    mt_put_text(plot->out, text, MT_FOR_XML);
    fputs("</text>\n", plot->out);
}

/* Draw a dot for a run that fits, else a cross, with a tooltip. */
static void draw_mark(const struct plot *plot, double x, double y, bool fits, const char *colour,
                      const char *title)
{
    if (fits)
        fprintf(plot->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"><title>", x, y,
                colour);
    else
        fprintf(plot->out,
                "<path d=\"M%.1f %.1fl8 8m0 -8l-8 8\" stroke=\"%s\" stroke-width=\"2\" "
                "fill=\"none\"><title>",
                x - 4, y - 4, colour);
    mt_put_text(plot->out, title, MT_FOR_XML);
    fputs(fits ? "</title></circle>\n" : "</title></path>\n", plot->out);
}

/* Draw the command, the title, and grid lines at round numbers with their unit. */
static void draw_frame(const struct plot *plot, const char *what, const char *unit)
{
    char text[160] = "";
    double tick = tick_of(plot->most);
    for (size_t i = 0; i < plot->job->n_words; i++)
        mt_text_append(text, sizeof text, "%s%s", i ? " " : "", plot->job->words[i]);
    if (strlen(text) == sizeof text - 1)
        memcpy(text + sizeof text - 4, "...", 4);
    draw_text(plot, LEFT, 18, "start", INK, text);
    draw_text(plot, LEFT, 36, "start", FAINT, what);
    for (double at = 0; at <= plot->most; at += tick) {
        double y = y_of(plot, at);
        draw_line(plot, LEFT, y, RIGHT, y, "#e3e3e3", THIN);
        snprintf(text, sizeof text, "%g%s", at, unit);
        draw_text(plot, LEFT - 8, y + 4, "end", FAINT, text);
    }
    draw_line(plot, LEFT, BOTTOM, RIGHT, BOTTOM, FAINT, THIN);
}

/* Draw names at the right near their heights, without overlap. */
static void draw_names(const struct plot *plot, struct name *name, size_t n)
{
    double least = TOP - 6, most = BOTTOM;
    size_t order[MT_MOST_FIT_CARDS];
    for (size_t i = 0; i < n; i++) {
        size_t j = i;
        for (; j && name[order[j - 1]].y > name[i].y; j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
    for (size_t i = 0; i < n; i++) {
        name[order[i]].y = fmax(name[order[i]].y, least);
        least = name[order[i]].y + 15;
    }
    for (size_t i = n; i-- > 0; most -= 15) { /* move up where there is no room */
        name[order[i]].y = fmin(name[order[i]].y, most);
        most = name[order[i]].y;
    }
    for (size_t i = 0; i < n; i++)
        draw_text(plot, RIGHT + 12, name[i].y + 4, "start", colour_of(i), name[i].text);
}

/* --- one line --------------------------------------------------------------------------------- */

static double value_at(const struct plot *plot, size_t position)
{
    return (double)mt_job_searched_value(plot->job, position);
}

static void find_ranges(struct plot *plot)
{
    const struct mt_job *job = plot->job;
    plot->first = plot->last = value_at(plot, 0);
    for (size_t i = 0; i < plot->answers->n; i++) {
        const struct mt_fit_answer *answer = &plot->answers->of[i];
        size_t fails = answer->search->fails, at = fails != MT_NONE ? fails : answer->largest;
        plot->last = fmax(plot->last, at == MT_NONE ? 0 : value_at(plot, at));
    }
    plot->last += plot->last > plot->first ? (plot->last - plot->first) / 12 : 1;
    plot->most = (double)job->card[mt_job_largest_card(job)].memory / GIB * 1.08;
}

static void draw_run(const struct plot *plot, const struct mt_attempt *attempt)
{
    char values[300], size[MT_SIZE_TEXT], title[420];
    const struct mt_outcome *outcome = attempt->outcome;
    const struct mt_fit_card *card = &plot->job->card[attempt->card];
    double value = value_at(plot, attempt->choice.at), used = (double)outcome->used / GIB;
    bool fits = outcome->end == MT_FIT_FITS;
    bool is_shown = fits ? used <= plot->most : outcome->end == MT_FIT_FULL && !attempt->is_huge;
    if (value > plot->last || !is_shown)
        return;
    snprintf(title, sizeof title, "%s, %s: %s",
             attempt->is_huge ? "unlimited card" : card->gpu->name,
             mt_choice_text(plot->job, attempt->choice, values, sizeof values),
             fits ? mt_size_text(size, outcome->used) : "does not fit");
    draw_mark(plot, x_of(plot, value), y_of(plot, fits ? used : (double)card->memory / GIB), fits,
              !fits              ? BAD
              : attempt->is_huge ? FAINT
                                 : colour_of(attempt->card),
              title);
}

static void draw_values(const struct plot *plot, const char *name)
{
    char text[64];
    double tick = fmax(tick_of(plot->last - plot->first), 1);
    for (double at = ceil(plot->first / tick) * tick; at <= plot->last; at += tick) {
        double x = x_of(plot, at);
        draw_line(plot, x, BOTTOM, x, BOTTOM + 5, FAINT, THIN);
        snprintf(text, sizeof text, "%g", at);
        draw_text(plot, x, BOTTOM + 20, "middle", FAINT, text);
    }
    draw_text(plot, (LEFT + RIGHT) / 2, BOTTOM + 44, "middle", INK, name);
}

static void draw_card(const struct plot *plot, const struct mt_fit_answer *answer,
                      struct name *name)
{
    const struct mt_fit_card *card = &plot->job->card[answer->card];
    const char *colour = colour_of(answer->card);
    name->y = y_of(plot, (double)card->memory / GIB);
    draw_line(plot, LEFT, name->y, RIGHT, name->y, colour, DASHED);
    if (answer->largest == MT_NONE) {
        snprintf(name->text, sizeof name->text, "%s: none fits", card->gpu->name);
        return;
    }
    double value = value_at(plot, answer->largest), x = x_of(plot, value);
    draw_line(plot, x, name->y, x, BOTTOM, colour, DASHED);
    snprintf(name->text, sizeof name->text, "%s: %.0f", card->gpu->name, value);
}

/* Draw the curve through all runs that fit, with the first card's context. */
static void draw_curve(const struct plot *plot)
{
    const struct mt_known_runs *known = &plot->answers->fit->line[0].known;
    double context = (double)plot->job->card[0].gpu->context, x = 0, y = 0;
    for (const struct mt_known_run *run = NULL, *from; (run = mt_known_after(known, from = run));) {
        double bytes = fmax((double)run->outcome->used - (double)run->context, 0) + context,
               used = bytes / GIB, x_before = x, y_before = y;
        x = x_of(plot, (double)run->value);
        y = y_of(plot, used);
        if (from && (double)run->value <= plot->last && used <= plot->most)
            draw_line(plot, x_before, y_before, x, y, "#c4c4c4", BOLD);
    }
}

static void draw_one_line(struct plot *plot)
{
    const struct mt_fit *fit = plot->answers->fit;
    struct name name[MT_MOST_FIT_CARDS];
    find_ranges(plot);
    draw_frame(
        plot,
        "memory that runs used (dots), runs that did not fit (crosses), and the cards' memory",
        " GiB");
    draw_values(plot, mt_job_searched(plot->job)->name);
    for (size_t card = 0; card < plot->job->n_cards; card++)
        draw_card(plot, &plot->answers->of[card], &name[card]);
    draw_curve(plot);
    for (size_t i = 0; i < fit->n_attempts; i++)
        draw_run(plot, &fit->attempt[i]);
    draw_names(plot, name, plot->job->n_cards);
}

/* --- several lines, or cards alone ------------------------------------------------------------ */

/* Return the height of a card's point: the largest value or, without a searched variable, the part
 * of the card that is used. */
static double height_of(const struct mt_job *job, const struct mt_fit_answer *answer)
{
    if (!answer->best)
        return 0;
    return mt_job_searched(job)
               ? (double)mt_job_searched_value(job, answer->largest)
               : 100 * (double)answer->best->used / (double)job->card[answer->card].memory;
}

/* Write a row for each variable, with its name at the right. Long values lose their beginning. */
static void draw_line_names(const struct plot *plot)
{
    char room[MT_VALUE_TEXT], text[40];
    const struct mt_job *job = plot->job;
    double y = BOTTOM + 20;
    size_t most = (size_t)((RIGHT - LEFT) / (double)job->n_lines / 7);
    most = most < 4 ? 4 : most > sizeof text - 3 ? sizeof text - 3 : most;
    for (size_t i = 0; i < job->n_variables; i++) {
        if ((int)i == job->searched)
            continue;
        snprintf(text, sizeof text, "%.22s", job->variable[i].name);
        draw_text(plot, RIGHT + 12, y, "start", FAINT, text);
        for (size_t line = 0; line < job->n_lines; line++) {
            const char *value = mt_choice_value(job, (struct mt_choice){line, 0}, i, room);
            size_t n = strlen(value);
            snprintf(text, sizeof text, "%s%s", n > most ? "\u2026" : "",
                     n > most ? value + n - most + 1
                     : *value ? value
                              : "\u2013");
            draw_text(plot, x_of(plot, (double)line), y, "middle", INK, text);
        }
        y += ROW;
    }
}

/* Return whether points are joined: a numeric variable grows from one to the next. */
static bool is_joined(const struct mt_job *job)
{
    uint64_t number, before = 0;
    for (size_t i = 0; i < job->n_variables; i++)
        for (size_t at = 0; (int)i != job->searched && at < job->variable[i].n;
             before = number, at++)
            if (job->variable[i].n != job->n_lines ||
                !mt_variable_number(&job->variable[i], at, &number) || (at && number <= before))
                return false;
    return true;
}

static size_t places_of(const struct mt_job *job)
{
    return job->n_variables ? job->n_lines : job->n_cards;
}

/* Draw a card's points: one for each line, or one for the card without variables. */
static void draw_stroke(const struct plot *plot, size_t card, struct name *name)
{
    char title[400], values[300], text[32];
    const struct mt_job *job = plot->job;
    bool joined = is_joined(job);
    double each = (RIGHT - LEFT) / (double)(places_of(job) * (joined ? 1 : job->n_cards));
    double aside = joined ? 0 : fmin(12, each) * ((double)card - (double)(job->n_cards - 1) / 2),
           x = 0;
    for (size_t line = 0; line < job->n_lines; line++) {
        const struct mt_fit_answer *answer = mt_fit_answer_of(plot->answers, card, line);
        double height = height_of(job, answer), before = x, y = y_of(plot, height);
        bool fits = answer->best, is_ruled = answer->verdict == MT_VERDICT_RULED;
        x = x_of(plot, (double)(job->n_variables ? line : card)) + aside;
        mt_choice_text(job, (struct mt_choice){line, MT_NONE}, values, sizeof values);
        snprintf(text, sizeof text, mt_job_searched(job) ? "%.0f" : "%.1f %%", height);
        snprintf(title, sizeof title, "%s%s%s: %s", job->card[card].gpu->name, *values ? ", " : "",
                 values,
                 fits       ? text
                 : is_ruled ? "ruled out"
                            : "does not fit");
        if (line && joined)
            draw_line(plot, before, name->y, x, y, colour_of(card), BOLD);
        draw_mark(plot, x, y, fits, is_ruled ? FAINT : colour_of(card), title);
        if (fits && each < NARROW) /* "71", where "71.2 %" has no room */
            snprintf(text, sizeof text, "%.0f", height);
        if (fits && each >= NARROW / 2)
            draw_text(plot, x, y - 8, "middle", colour_of(card), text);
        name->y = y;
    }
    snprintf(name->text, sizeof name->text, "%s", job->card[card].gpu->name);
    if (!job->n_variables) /* many are in two rows */
        draw_text(plot, x, BOTTOM + 20 + (job->n_cards > 6 && card % 2 ? ROW : 0), "middle", INK,
                  name->text);
}

static void draw_lines(struct plot *plot)
{
    const struct mt_job *job = plot->job;
    const struct mt_variable *searched = mt_job_searched(job);
    char what[160] = "part of the card that each line uses (cross: does not fit; grey: not run, "
                     "ruled out by another line)";
    struct name name[MT_MOST_FIT_CARDS];
    double most = 1;
    for (size_t i = 0; i < plot->answers->n; i++)
        most = fmax(most, height_of(job, &plot->answers->of[i]));
    plot->first = -0.5;
    plot->last = (double)places_of(job) - 0.5;
    plot->most = most * 1.08;
    if (searched)
        snprintf(what, sizeof what, "the largest %s that fits (cross: none)", searched->name);
    else if (!job->n_variables)
        snprintf(what, sizeof what,
                 "part of each card's memory that is used (cross: does not fit)");
    draw_frame(plot, what, searched ? "" : " %");
    draw_line_names(plot);
    for (size_t card = 0; card < job->n_cards; card++)
        draw_stroke(plot, card, &name[card]);
    if (job->n_variables)
        draw_names(plot, name, job->n_cards);
}

int mt_fit_picture(const struct mt_fit_answers *answers, const char *path)
{
    const struct mt_job *job = answers->job;
    struct mt_new_file file;
    int rc = mt_new_file_open(&file, path, 0), height = HEIGHT + ROW * (int)job->n_variables;
    struct plot plot = {
        .out = rc ? NULL : mt_new_file_stream(&file), .answers = answers, .job = job};
    if (!plot.out)
        return rc ? rc : mt_new_file_close(&file, NULL, 0);
    fprintf(plot.out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" font-family=\"system-ui, sans-serif\" font-size=\"12\" role=\"img\">\n"
            "<title>memtap fit</title>\n<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n",
            WIDTH, height, WIDTH, height, WIDTH, height);
    if (job->n_lines == 1 && mt_job_searched(job))
        draw_one_line(&plot);
    else
        draw_lines(&plot);
    fputs("</svg>\n", plot.out);
    return mt_new_file_close(&file, plot.out, 0);
}
