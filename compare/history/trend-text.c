/* SPDX-License-Identifier: Apache-2.0 */
/* A trend as text: a line of bars for each series and a paragraph for each step, in 80 columns. */
#include "analyzer/support/to-integer.h"
#include "compare/diff/diff-words.h"
#include "trend.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 50
#define MOST_SITES 4u
#define STEPS_SHOWN 5u
#define LEFT_OUT_SHOWN 5u
/* Do not scale a series that hardly changes to the full height of a line. */
#define LEAST_SPAN 0.04

struct page {
    const struct mt_trend *trend;
    struct mt_store *store;
    FILE *out;
    const struct mt_style *style;
    enum mt_certainty *least; /* of all tables: one legend below them */
};

static const struct mt_run *run_at(const struct page *page, size_t index)
{
    return &page->trend->runs.run[index];
}

static size_t columns(const struct mt_trend *trend)
{
    return trend->runs.n < COLUMNS ? trend->runs.n : COLUMNS;
}

/* Return the first run of a column: if there are more runs than columns, each has several. */
static size_t first_of(const struct mt_trend *trend, size_t column)
{
    return column * trend->runs.n / columns(trend);
}

static double height(const struct mt_trend *trend, unsigned series, size_t column)
{
    double sum = 0;
    size_t from = first_of(trend, column), to = first_of(trend, column + 1);
    for (size_t i = from; i < to; i++)
        sum += (double)trend->runs.run[i].bytes[series] / (double)(to - from);
    return sum;
}

static void print_bars(const struct page *page, unsigned series)
{
    static const char *const utf8[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const ascii[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
    size_t n = columns(page->trend);
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < n; i++) {
        least = fmin(least, height(page->trend, series, i));
        most = fmax(most, height(page->trend, series, i));
    }
    double span = fmax(most - least, most * LEAST_SPAN), floor = (most + least - span) / 2;
    unsigned colour =
        series < MT_SERIES_CATEGORY ? 0 : mt_categories[series - MT_SERIES_CATEGORY].colour;
    mt_colour(page->out, page->style, colour);
    for (size_t i = 0; i < n; i++) {
        double part = (height(page->trend, series, i) - floor) / span;
        unsigned level = (unsigned)fmin(7, 8 * part + 1e-6);
        fputs((page->style->utf8 ? utf8 : ascii)[level], page->out);
    }
    mt_colour(page->out, page->style, 0);
    fprintf(page->out, "%*s", (int)(COLUMNS - n), "");
}

static bool is_shown(const struct mt_trend *trend, unsigned series)
{
    for (size_t i = 0; i < trend->runs.n; i++)
        if (trend->runs.run[i].bytes[series])
            return true;
    return false;
}

/* Mark the steps below the bars. */
static void print_marks(const struct page *page)
{
    char marks[COLUMNS + 1];
    size_t n = columns(page->trend), last = 0;
    memset(marks, ' ', sizeof marks);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < page->trend->n_steps; j++)
            if (page->trend->step[j].at >= first_of(page->trend, i) &&
                page->trend->step[j].at < first_of(page->trend, i + 1)) {
                marks[i] = '^';
                last = i + 1;
            }
    if (last)
        fprintf(page->out, "%*s%.*s\n", 18, "", (int)last, marks);
}

static void print_series(const struct page *page)
{
    char size[MT_SIZE_TEXT];
    const struct mt_run *newest = run_at(page, page->trend->runs.n - 1);
    for (unsigned i = 0; i < mt_series_count(); i++) {
        if (!is_shown(page->trend, i))
            continue;
        fprintf(page->out, " %c%-15s ",
                mt_certainty_row(page->least, mt_series_certainty(page->store, newest, i)),
                mt_series(i).label);
        print_bars(page, i);
        fprintf(page->out, " %11s\n", mt_size_text(size, newest->bytes[i]));
    }
    print_marks(page);
}

static const char *difference(char out[MT_SIZE_TEXT], double before, double after)
{
    char size[MT_SIZE_TEXT];
    snprintf(out, MT_SIZE_TEXT, "%c%s", after < before ? '-' : '+',
             mt_size_text(size, mt_to_uint64(fabs(after - before) + 0.5)));
    return out;
}

static uint64_t bytes(double level)
{
    return mt_to_uint64(level + 0.5);
}

static void print_change(const struct page *page, unsigned series, const struct mt_run *old,
                         const struct mt_run *new, const struct mt_step *step)
{
    char before[MT_SIZE_TEXT], after[MT_SIZE_TEXT], change[MT_SIZE_TEXT];
    enum mt_certainty was = mt_series_certainty(page->store, old, series),
                      is = mt_series_certainty(page->store, new, series);
    fprintf(page->out, " %c%-15s %11s to %11s %13s",
            mt_certainty_row(page->least, is > was ? is : was), mt_series(series).label,
            mt_size_text(before, bytes(step->before)), mt_size_text(after, bytes(step->after)),
            difference(change, step->before, step->after));
    if (step->before > 0)
        fprintf(page->out, " %+8.2f %%", 100 * (step->after / step->before - 1));
    putc('\n', page->out);
}

/* Print a commit as people know it, or the run if none is known. */
static void print_commit(const struct page *page, const struct mt_run *run)
{
    char commit[64];
    const char *known = run->text[MT_RUN_COMMIT];
    size_t hash = strspn(known, "0123456789abcdef");
    mt_safe_text(commit, sizeof commit, known, hash < 40 ? 24 : 0, MT_CUT_END, page->style);
    if (hash >= 40)
        commit[12] = '\0';
    fprintf(page->out, *commit ? "%s (run %lld)" : "%srun %lld", commit, (long long)run->id);
}

static void print_causes(const struct page *page, const struct mt_run *before,
                         const struct mt_run *after)
{
    char old[64], new[64];
    for (size_t i = 0; i < mt_run_causes_count; i++) {
        enum mt_run_text cause = mt_run_causes[i];
        if (!strcmp(before->text[cause], after->text[cause]))
            continue;
        mt_safe_text(old, sizeof old, before->text[cause], 28, MT_CUT_BEGIN, page->style);
        mt_safe_text(new, sizeof new, after->text[cause], 28, MT_CUT_BEGIN, page->style);
        fprintf(page->out, "  %s: %s became %s\n", mt_run_text_names[cause], *old ? old : "none",
                *new ? new : "none");
    }
    if (before->world_size != after->world_size)
        fprintf(page->out, "  world size: %ld became %ld\n", before->world_size, after->world_size);
}

static void print_site(const struct page *page, const struct mt_site_change *site)
{
    char change[MT_SIZE_TEXT], place[256], shown[256], category[64];
    mt_site_place_text(place, sizeof place, site->file, site->line, site->function,
                       site->operator_name);
    mt_safe_text(shown, sizeof shown, place, 48, MT_CUT_END, page->style);
    mt_safe_text(category, sizeof category, mt_series_label(site->category), 0, MT_CUT_END,
                 page->style);
    fprintf(page->out, "  %13s %c%-15s %s\n",
            difference(change, (double)site->before, (double)site->after),
            mt_certainty_row(page->least, site->certainty), category, shown);
    if (!site->was)
        return;
    mt_safe_text(shown, sizeof shown, site->was, 44, MT_CUT_END, page->style);
    fprintf(page->out, "%33swas %s\n", "", shown);
}

static double distance(const struct mt_site_change *site)
{
    return fabs((double)site->after - (double)site->before);
}

static enum mt_phase peak_phase(const struct mt_run *run)
{
    enum mt_phase best = MT_PHASE_OUTSIDE;
    for (unsigned i = 0; i < MT_PHASE_COUNT; i++)
        if (run->most_in_phase[i] > run->most_in_phase[best])
            best = (enum mt_phase)i;
    return best;
}

/* Print what moved. Lines are stored only at the peak, while memtap diff compares both runs in one
 * phase. */
static void print_moved(const struct page *page, const struct mt_run *before,
                        const struct mt_run *after)
{
    enum mt_phase from = peak_phase(before), to = peak_phase(after);
    if (from != to)
        fprintf(page->out,
                "  The peak moved from the %s to the %s;\n"
                "  categories and lines are from each run's own peak.\n",
                mt_phase_names[from].label, mt_phase_names[to].label);
}

/* Skip differences much smaller than the greatest: they are noise or follow from it. */
static int print_sites(const struct page *page, const struct mt_run *before,
                       const struct mt_run *after)
{
    struct mt_site_changes changes;
    double most = 0;
    int rc = mt_site_changes_find(&changes, page->store, before->id, after->id, MOST_SITES);
    for (size_t i = 0; !rc && i < changes.n; i++)
        most = fmax(most, distance(&changes.site[i]));
    for (size_t i = 0; !rc && i < changes.n; i++)
        if (distance(&changes.site[i]) * 20 >= most)
            print_site(page, &changes.site[i]);
    mt_site_changes_clear(&changes);
    return rc;
}

static int print_step(const struct page *page, const struct mt_trend_step *step)
{
    char date[MT_DATE_TEXT];
    const struct mt_run *before = run_at(page, step->at - 1), *after = run_at(page, step->at);
    fprintf(page->out, "\nStep on %s, between ", mt_date_text(date, after->started_unix_ns));
    print_commit(page, before);
    fputs(" and ", page->out);
    print_commit(page, after);
    putc('\n', page->out);
    for (unsigned i = 0; i < mt_series_count(); i++)
        if (step->of[i])
            print_change(page, i, before, after, step->of[i]);
    print_causes(page, before, after);
    print_moved(page, before, after);
    return print_sites(page, before, after);
}

static int print_steps(const struct page *page)
{
    size_t n = page->trend->n_steps, hidden = n > STEPS_SHOWN ? n - STEPS_SHOWN : 0;
    int rc = 0;
    if (!n && page->trend->runs.n < MT_LEAST_NIGHTS)
        fprintf(page->out,
                "\nToo few runs to find a step: it takes %u identical runs, or %u with noise\n",
                MT_LEAST_NIGHTS, MT_LEAST_NOISY_NIGHTS);
    else if (!n)
        fputs("\nNo steps\n", page->out);
    if (hidden)
        fprintf(page->out, "\n%zu earlier steps not shown\n", hidden);
    for (size_t i = hidden; !rc && i < n; i++)
        rc = print_step(page, &page->trend->step[i]);
    return rc;
}

static void print_drifts(const struct page *page)
{
    char size[MT_SIZE_TEXT], date[MT_DATE_TEXT];
    for (unsigned i = 0; i < mt_series_count(); i++)
        for (size_t j = 0; j < page->trend->changes[i].n_drifts; j++) {
            const struct mt_drift *drift = &page->trend->changes[i].drift[j];
            const struct mt_run *from = run_at(page, drift->from),
                                *to = run_at(page, drift->to - 1);
            fprintf(page->out, "\nSlow %s of %s: %s per run, without a step, from %s (run %lld)\n",
                    drift->slope < 0 ? "decline" : "growth", mt_series(i).label,
                    mt_size_text(size, bytes(fabs(drift->slope))),
                    mt_date_text(date, from->started_unix_ns), (long long)from->id);
            fprintf(page->out, "  to %s (run %lld)\n", mt_date_text(date, to->started_unix_ns),
                    (long long)to->id);
        }
}

/* Print the newest of them. */
static void print_left_out(const struct page *page)
{
    const struct mt_runs *left = &page->trend->left_out;
    char date[MT_DATE_TEXT], why[MT_ENDED_TEXT];
    size_t first = left->n > LEFT_OUT_SHOWN ? left->n - LEFT_OUT_SHOWN : 0;
    if (first)
        fprintf(page->out, "left out: %zu older runs\n", first);
    for (size_t i = first; i < left->n; i++) {
        const struct mt_run *run = &left->run[i];
        bool is_bad = *run->ended && strcmp(run->ended, mt_ended_name(MT_ENDED_WHOLE));
        mt_safe_text(why, sizeof why,
                     is_bad           ? run->ended_text
                     : !run->complete ? "incomplete"
                     : run->lost      ? "events were lost"
                                      : "no memory was allocated",
                     0, MT_CUT_END, page->style);
        fprintf(page->out, "left out: run %lld of %s, %s%s\n", (long long)run->id,
                mt_date_text(date, run->started_unix_ns), is_bad ? "ended: " : "", why);
    }
}

static void print_head(const struct page *page)
{
    char program[128], branch[64], date[MT_DATE_TEXT];
    size_t n = page->trend->runs.n;
    if (!n) {
        fputs("No runs to compare\n", page->out);
    } else {
        const struct mt_run *newest = run_at(page, n - 1);
        mt_safe_text(program, sizeof program, mt_run_program(newest), 32, MT_CUT_END, page->style);
        mt_safe_text(branch, sizeof branch, newest->text[MT_RUN_BRANCH], 20, MT_CUT_END,
                     page->style);
        fprintf(page->out, "%s%s%s: %zu run%s, ", program, *branch ? " on " : "", branch, n,
                n == 1 ? "" : "s");
        fprintf(page->out, "%s to ", mt_date_text(date, run_at(page, 0)->started_unix_ns));
        fprintf(page->out, "%s\n", mt_date_text(date, newest->started_unix_ns));
    }
    print_left_out(page);
}

int mt_trend_text(const struct mt_trend *trend, struct mt_store *store, FILE *out,
                  const struct mt_style *style)
{
    enum mt_certainty least = MT_CERTAIN;
    const struct page page = {trend, store, out, style, &least};
    print_head(&page);
    if (!trend->runs.n)
        return 0;
    putc('\n', out);
    print_series(&page);
    int rc = print_steps(&page);
    print_drifts(&page);
    mt_certainty_legend(out, "\n ", least);
    return rc;
}
