/* SPDX-License-Identifier: Apache-2.0 */
#include "show.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#define MOST_COLUMNS (MT_MOST_VARIABLES + 7u)
#define CELL 160u
#define GAP 2

/* A table whose columns are as wide as needed. If it is too wide for the page, the values of the
 * unsearched variables become headings above the rows. */
struct table {
    const struct mt_fit_answers *answers;
    char (*cell)[MOST_COLUMNS][CELL]; /* cells cells of the names, then of each answer */
    size_t row, columns;              /* rows so far; columns in this row */
    int width[MOST_COLUMNS];
    bool is_right[MOST_COLUMNS];
};

/* Return the width of a text in columns: cells are ASCII or typed by the user. */
static int width_of(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += (*text & 0xc0) != 0x80;
    return n;
}

__attribute__((format(printf, 2, 3))) static void put(struct table *table, const char *format, ...)
{
    va_list values;
    char *cell = table->cell[table->row][table->columns];
    int *width = &table->width[table->columns++];
    va_start(values, format);
    vsnprintf(cell, CELL, format, values);
    va_end(values);
    *width = width_of(cell) > *width ? width_of(cell) : *width;
}

static void put_name(struct table *table, const char *before, const char *name, bool is_right)
{
    table->is_right[table->columns] = is_right;
    put(table, "%s%s", before, name);
}

static void put_names(struct table *table, const struct mt_job *job)
{
    static const char *const figures[] = {"peak", "of card", "reserved", "runs"};
    put_name(table, "", "card", false);
    put_name(table, "", job->is_smaller ? "usable" : "memory", true);
    for (size_t i = 0; i < job->n_variables; i++)
        if ((int)i != job->searched)
            put_name(table, "", job->variable[i].name, false);
    if (job->searched >= 0)
        put_name(table, "largest ", job->variable[job->searched].name, true);
    else
        put_name(table, "", "fits", false);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        put_name(table, "", figures[i], true);
}

static void put_largest(struct table *table, const struct mt_job *job,
                        const struct mt_fit_answer *answer)
{
    char room[MT_VALUE_TEXT];
    bool is_open = answer->verdict == MT_VERDICT_OPEN;
    if (answer->verdict == MT_VERDICT_RULED)
        put(table, "ruled out");
    else if (answer->verdict == MT_VERDICT_NONE)
        put(table, "%s", job->searched < 0 ? "no" : "none");
    else if (is_open && (answer->largest == MT_NONE || job->searched < 0))
        put(table, "unknown");
    else if (job->searched < 0)
        put(table, "yes");
    else
        put(table, "%s%s", mt_variable_text(&job->variable[job->searched], answer->largest, room),
            is_open ? " or more" : "");
}

/* Add the figures of the largest value that fits. If none fits, use the first value's run on the
 * unlimited card, with this card's context. */
static void put_figures(struct table *table, const struct mt_job *job,
                        const struct mt_fit_answer *answer)
{
    char size[MT_SIZE_TEXT];
    const struct mt_fit_card *card = &job->card[answer->card];
    const struct mt_outcome *peak = answer->best;
    uint64_t used = peak ? peak->used : 0;
    if (!peak && answer->verdict == MT_VERDICT_NONE)
        peak = mt_fit_outcome(table->answers->fit, answer->line, MT_ANY_ROOM,
                              answer->search->line->first);
    if (!peak || peak->end != MT_FIT_FITS || peak->fills_card) {
        table->columns += 3;
        return;
    }
    if (!used)
        used = peak->used - job->card[mt_job_largest_card(job)].gpu->context + card->gpu->context;
    put(table, "%s", mt_size_text(size, used));
    put(table, "%.1f %%", 100.0 * (double)used / (double)card->memory);
    put(table, "%s", mt_size_text(size, peak->reserved));
}

static void put_answer(struct table *table, const struct mt_job *job,
                       const struct mt_fit_answer *answer)
{
    char size[MT_SIZE_TEXT], room[MT_VALUE_TEXT], value[CELL];
    const struct mt_style style = {.utf8 = 1};
    table->row++;
    table->columns = 0;
    put(table, "%s", job->card[answer->card].gpu->name);
    put(table, "%s", mt_size_text(size, job->card[answer->card].memory));
    for (size_t i = 0; i < job->n_variables; i++) {
        if ((int)i == job->searched)
            continue;
        mt_safe_text(value, sizeof value,
                     mt_choice_value(job, (struct mt_choice){answer->line, 0}, i, room), 48,
                     MT_CUT_END, &style);
        put(table, "%s", value);
    }
    put_largest(table, job, answer);
    put_figures(table, job, answer);
    put(table, "%u", answer->runs);
}

/* Print a row. has_headings: indent it and leave out the variables' values. */
static void print_row(const struct table *table, size_t row, bool has_headings)
{
    printf("%*s", has_headings ? GAP : 0, "");
    for (size_t i = 0; i < table->columns; i++) {
        const char *text = table->cell[row][i];
        int pad = table->width[i] - width_of(text);
        if (has_headings && i >= 2 && i + 5 < table->columns)
            continue;
        printf("%*s%*s%s%*s", i ? GAP : 0, "", table->is_right[i] ? pad : 0, "", text,
               table->is_right[i] ? 0 : pad, "");
    }
    putchar('\n');
}

/* Print the rows: grouped by line with headings, else by card. */
static void print(const struct table *table, const struct mt_job *job, bool has_headings,
                  const struct mt_style *style, unsigned width)
{
    char values[MT_MOST_VARIABLES * CELL];
    print_row(table, 0, has_headings);
    for (size_t i = 0; i < table->row; i++) {
        struct mt_choice choice = {i / job->n_cards, MT_NONE};
        if (has_headings && i % job->n_cards == 0)
            mt_put_wrapped(stdout, mt_choice_text(job, choice, values, sizeof values), width,
                           style);
        print_row(table, has_headings ? 1 + i % job->n_cards * job->n_lines + choice.line : 1 + i,
                  has_headings);
    }
}

int mt_fit_print_table(const struct mt_fit_answers *answers, const struct mt_style *style,
                       unsigned width)
{
    const struct mt_job *job = answers->job;
    struct table table = {.answers = answers, .cell = calloc(answers->n + 1, sizeof *table.cell)};
    unsigned all = 0;
    if (!table.cell)
        return -ENOMEM;
    put_names(&table, job);
    for (size_t i = 0; i < answers->n; i++)
        put_answer(&table, job, &answers->of[i]);
    for (size_t i = 0; i < table.columns; i++)
        all += (unsigned)table.width[i] + (i ? GAP : 0);
    print(&table, job, all > width && job->n_lines > 1, style, width);
    free(table.cell);
    return 0;
}
