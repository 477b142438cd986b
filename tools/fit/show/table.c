/* SPDX-License-Identifier: Apache-2.0 */
#include "show.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_COLUMNS (MT_MOST_VARIABLES + 6u)
#define CELL 160u
#define GAP 2

/* A table whose columns are as wide as they have to be. Where that is too wide for the page, the
 * values of the variables that are not searched are headings above rows. */
struct table {
    char (*cell)[CELL]; /* rows * columns */
    size_t rows, columns;
    bool has_headings;
    bool is_right[MOST_COLUMNS];
};

static char *cell(const struct table *table, size_t row, size_t column)
{
    return table->cell[row * table->columns + column];
}

static void add_heading(struct table *table, const char *name, int is_right)
{
    table->is_right[table->columns++] = is_right;
    snprintf(table->cell[table->columns - 1], CELL, "%s", name);
}

/* Return the columns that a text takes: cells are ASCII, or what a user typed. */
static int width_of(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += (*text & 0xc0) != 0x80;
    return n;
}

static void measure(const struct table *table, int width[MOST_COLUMNS])
{
    memset(width, 0, MOST_COLUMNS * sizeof *width);
    for (size_t row = 0; row < table->rows; row++)
        for (size_t column = 0; column < table->columns; column++) {
            int n = width_of(cell(table, row, column));
            width[column] = n > width[column] ? n : width[column];
        }
}

static bool has_room(const struct table *table, unsigned most)
{
    int width[MOST_COLUMNS], all = GAP * ((int)table->columns - 1);
    measure(table, width);
    for (size_t column = 0; column < table->columns; column++)
        all += width[column];
    return all <= (int)most;
}

static void put_row(const struct table *table, const int width[MOST_COLUMNS], size_t row,
                    int indent)
{
    printf("%*s", indent, "");
    for (size_t column = 0; column < table->columns; column++) {
        const char *text = cell(table, row, column);
        int pad = width[column] - width_of(text), is_right = table->is_right[column];
        if (column + 1 == table->columns && !is_right)
            pad = 0;
        printf("%*s%*s%s%*s", column ? GAP : 0, "", is_right ? pad : 0, "", text,
               is_right ? 0 : pad, "");
    }
    putchar('\n');
}

/* --- its rows ----------------------------------------------------------------------------------
 */

static void make_headings(struct table *table, const struct mt_job *job)
{
    char largest[CELL];
    add_heading(table, "card", 0);
    add_heading(table, job->is_smaller ? "may take" : "memory", 1);
    for (size_t i = 0; i < job->n_variables && !table->has_headings; i++)
        if ((int)i != job->searched)
            add_heading(table, job->variable[i].name, 0);
    if (job->searched >= 0) {
        snprintf(largest, sizeof largest, "largest %s", job->variable[job->searched].name);
        add_heading(table, largest, 1);
    } else {
        add_heading(table, "fits", 0);
    }
    add_heading(table, "peak", 1);
    add_heading(table, "of it", 1);
    add_heading(table, "reserved", 1);
    add_heading(table, "runs", 1);
}

static void put_largest(char *out, const struct mt_fit *fit, size_t line, size_t card)
{
    char room[MT_VALUE_TEXT];
    const struct mt_job *job = fit->job;
    size_t largest = mt_search_largest(mt_fit_search(fit, line, card));
    enum mt_fit_verdict verdict = mt_fit_verdict(fit, line, card);
    if (verdict == MT_VERDICT_RULED)
        snprintf(out, CELL, "ruled out");
    else if (verdict == MT_VERDICT_NONE)
        snprintf(out, CELL, "%s", job->searched < 0 ? "no" : "none");
    else if (verdict == MT_VERDICT_OPEN && (largest == MT_NONE || job->searched < 0))
        snprintf(out, CELL, "not known");
    else if (job->searched < 0)
        snprintf(out, CELL, "yes");
    else
        snprintf(out, CELL, "%s%s", mt_variable_text(&job->variable[job->searched], largest, room),
                 verdict == MT_VERDICT_OPEN ? " or more" : "");
}

/* Write the figures of the largest value; of one that fits nowhere, what it took where it had room,
 * with this card's context. */
static void put_figures(struct table *table, const struct mt_fit *fit, size_t row, size_t column,
                        size_t line, size_t card)
{
    char size[MT_SIZE_TEXT];
    const struct mt_job *job = fit->job;
    const struct mt_outcome *peak = mt_fit_best(fit, line, card);
    uint64_t used = peak ? peak->used : 0;
    if (!peak && mt_fit_verdict(fit, line, card) == MT_VERDICT_NONE)
        peak = mt_fit_outcome(fit, line, MT_ANY_ROOM, mt_fit_search(fit, line, card)->first);
    if (peak && peak->end == MT_FIT_FITS && !peak->takes_all) {
        if (!used)
            used = peak->used - job->card[mt_job_largest_card(job)].gpu->context +
                   job->card[card].gpu->context;
        snprintf(cell(table, row, column), CELL, "%s", mt_size_text(size, used));
        snprintf(cell(table, row, column + 1), CELL, "%.1f %%",
                 100.0 * (double)used / (double)job->card[card].memory);
        snprintf(cell(table, row, column + 2), CELL, "%s", mt_size_text(size, peak->reserved));
    }
    snprintf(cell(table, row, column + 3), CELL, "%u", mt_fit_runs(fit, line, card));
}

static void make_row(struct table *table, const struct mt_fit *fit, size_t row, size_t line,
                     size_t card)
{
    char size[MT_SIZE_TEXT], room[MT_VALUE_TEXT];
    const struct mt_job *job = fit->job;
    const struct mt_style style = {.utf8 = 1};
    size_t column = 0;
    snprintf(cell(table, row, column++), CELL, "%s", job->card[card].gpu->name);
    snprintf(cell(table, row, column++), CELL, "%s", mt_size_text(size, job->card[card].memory));
    for (size_t i = 0; i < job->n_variables && !table->has_headings; i++)
        if ((int)i != job->searched)
            mt_safe_text(cell(table, row, column++), CELL,
                         mt_choice_value(job, (struct mt_choice){line, 0}, i, room), 48, MT_CUT_END,
                         &style);
    put_largest(cell(table, row, column++), fit, line, card);
    put_figures(table, fit, row, column, line, card);
}

/* Return the row of a card and line, behind that of the columns' names. With headings the cards of
 * a line are together, else the lines of a card. */
static size_t row_of(const struct table *table, const struct mt_job *job, size_t line, size_t card)
{
    return 1 + (table->has_headings ? line * job->n_cards + card : card * job->n_lines + line);
}

static void make_table(struct table *table, const struct mt_fit *fit)
{
    const struct mt_job *job = fit->job;
    table->columns = 0;
    memset(table->cell, 0, table->rows * MOST_COLUMNS * sizeof *table->cell);
    make_headings(table, job);
    for (size_t card = 0; card < job->n_cards; card++)
        for (size_t line = 0; line < job->n_lines; line++)
            make_row(table, fit, row_of(table, job, line, card), line, card);
}

static void put_heading(const struct mt_job *job, size_t line, const struct mt_style *style,
                        unsigned width)
{
    char values[MT_MOST_VARIABLES * CELL];
    mt_choice_text(job, (struct mt_choice){line, 0}, MT_CHOICE_LINE, values, sizeof values);
    mt_put_wrapped(stdout, values, width, style);
}

int mt_fit_print_table(const struct mt_fit *fit, const struct mt_style *style, unsigned width)
{
    const struct mt_job *job = fit->job;
    struct table table = {.rows = 1 + job->n_lines * job->n_cards};
    int widths[MOST_COLUMNS];
    table.cell = calloc(table.rows * MOST_COLUMNS, sizeof *table.cell);
    if (!table.cell)
        return -ENOMEM;
    make_table(&table, fit);
    if (job->n_lines > 1 && !has_room(&table, width)) {
        table.has_headings = true;
        make_table(&table, fit);
    }
    measure(&table, widths);
    for (size_t row = 0; row < table.rows; row++) {
        if (table.has_headings && row && (row - 1) % job->n_cards == 0)
            put_heading(job, (row - 1) / job->n_cards, style, width);
        put_row(&table, widths, row, table.has_headings ? GAP : 0);
    }
    free(table.cell);
    return 0;
}
