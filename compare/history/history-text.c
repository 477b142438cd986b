/* SPDX-License-Identifier: Apache-2.0 */
/* Text output of list and show. */
#include "compare/diff/diff-words.h"
#include "history.h"

#include <stdbool.h>
#include <string.h>

#define MOST_SITES 10
#define DOUBT 480
/* An enum mt_certainty of a row. */
#define MT_SQL_CERTAINTY "CASE certainty WHEN 'guess' THEN 2 WHEN 'likely' THEN 1 ELSE 0 END"

/* Return a remark on a run: how it ended, or why it cannot be compared. */
static const char *doubt(char out[DOUBT], const struct mt_run *run, const struct mt_style *style)
{
    char safe[DOUBT - 32];
    bool is_plain = !*run->ended_text || !strcmp(run->ended_text, "whole");
    mt_safe_text(safe, sizeof safe, run->ended_text, 0, MT_CUT_END, style);
    snprintf(out, DOUBT, "%s%s%s", is_plain ? "" : "  ended: ", is_plain ? "" : safe,
             is_plain && !run->complete ? "  incomplete"
             : run->lost                ? "  lost events"
                                        : "");
    return out;
}

void mt_runs_text(const struct mt_runs *runs, FILE *out, const struct mt_style *style)
{
    char date[MT_DATE_TEXT], hash[13], commit[64], branch[64], program[64], size[MT_SIZE_TEXT];
    char ended[DOUBT];
    if (!runs->n) {
        fputs("No runs\n", out);
        return;
    }
    fprintf(out, "%4s  %-16s  %-12s  %-12s  %-16s %11s\n", "run", "started", "commit", "branch",
            "program", "peak");
    for (size_t i = 0; i < runs->n; i++) {
        const struct mt_run *run = &runs->run[i];
        snprintf(hash, sizeof hash, "%s", run->text[MT_RUN_COMMIT]);
        mt_safe_text(commit, sizeof commit, hash, 0, MT_CUT_END, style);
        mt_safe_text(branch, sizeof branch, run->text[MT_RUN_BRANCH], 12, MT_CUT_END, style);
        mt_safe_text(program, sizeof program, mt_run_program(run), 16, MT_CUT_END, style);
        fprintf(out, "%4lld  %-16s  %-12s  %-12s  %-16s %11s%s\n", (long long)run->id,
                mt_date_text(date, run->started_unix_ns), commit, branch, program,
                run->has_memory ? mt_size_text(size, run->bytes[MT_SERIES_PEAK]) : "-",
                doubt(ended, run, style));
    }
}

static void print_line(FILE *out, const struct mt_style *style, const char *name, const char *text)
{
    char safe[1024];
    mt_safe_text(safe, sizeof safe, text, 0, MT_CUT_END, style);
    if (*safe)
        fprintf(out, "  %-16s %s\n", name, safe);
}

static void print_size(FILE *out, char mark, const char *name, uint64_t bytes)
{
    char size[MT_SIZE_TEXT];
    if (bytes)
        fprintf(out, " %c%-22s %11s\n", mark, name, mt_size_text(size, bytes));
}

enum mt_certainty mt_series_certainty(struct mt_store *store, const struct mt_run *run,
                                      unsigned series)
{
    if (series < MT_SERIES_CATEGORY)
        return MT_CERTAIN;
    return (enum mt_certainty)mt_sql_number(
        store, MT_CERTAIN,
        "SELECT max(" MT_SQL_CERTAINTY ") FROM category JOIN device ON device.id = device"
        " JOIN trace ON trace.id = trace WHERE run = ? AND name = ?",
        "it", run->id, mt_series(series).name);
}

static void print_traces(struct mt_store *store, const struct mt_run *run, FILE *out,
                         const struct mt_style *style)
{
    char path[1024], rank[32], size[MT_SIZE_TEXT], checksum[32];
    sqlite3_stmt *row = mt_sql(store,
                               "SELECT path, sha256, size, kept, ifnull(rank, -1) FROM trace"
                               " WHERE run = ? ORDER BY rank, id",
                               "i", run->id);
    while (mt_sql_next(store, row)) {
        mt_safe_text(path, sizeof path, mt_sql_text(row, 0), 0, MT_CUT_END, style);
        mt_safe_text(checksum, sizeof checksum, mt_sql_text(row, 1), 0, MT_CUT_END, style);
        snprintf(rank, sizeof rank,
                 sqlite3_column_int64(row, 4) < 0 ? "trace" : "trace of rank %lld",
                 (long long)sqlite3_column_int64(row, 4));
        fprintf(out, "  %-16s %s\n  %-16s %s, sha256 %.16s%s\n", rank, path, "",
                mt_size_text(size, (uint64_t)sqlite3_column_int64(row, 2)), checksum,
                sqlite3_column_int(row, 3) ? ", copied by the history" : "");
    }
}

/* Print the sites. As in memtap report, a line with an operator is one row for all modules; of
 * several ranks the highest counts. */
static void print_sites(struct mt_store *store, const struct mt_run *run, FILE *out,
                        const struct mt_style *style)
{
    char place[512], safe[256], size[MT_SIZE_TEXT], blocks[MT_SIZE_TEXT], category[64];
    enum mt_certainty least = MT_CERTAIN;
    sqlite3_stmt *row =
        mt_sql(store,
               "WITH one AS (SELECT sum(size) AS size, sum(blocks) AS blocks, category, file, line,"
               "  function, operator, max(" MT_SQL_CERTAINTY ") AS sure"
               "  FROM named_site WHERE run = ?"
               "  GROUP BY device, category, file, line, function, operator)"
               " SELECT max(size) AS most, max(blocks), category, file, line, function,"
               "  operator, max(sure) FROM one GROUP BY category, file, line, function, operator"
               " ORDER BY most DESC, category, file, line, function, operator LIMIT ?",
               "ii", run->id, (int64_t)MOST_SITES);
    fprintf(out, "\n  %11s %8s  %-15s %s\n", "bytes", "blocks", "category", "call site");
    while (mt_sql_next(store, row)) {
        mt_site_place_text(place, sizeof place, mt_sql_text(row, 3),
                           (uint32_t)sqlite3_column_int(row, 4), mt_sql_text(row, 5),
                           mt_sql_text(row, 6));
        mt_safe_text(safe, sizeof safe, place, 40, MT_CUT_END, style);
        mt_safe_text(category, sizeof category, mt_series_label(mt_sql_text(row, 2)), 0, MT_CUT_END,
                     style);
        fprintf(out, "  %11s %8s %c%-15s %s\n",
                mt_size_text(size, (uint64_t)sqlite3_column_int64(row, 0)),
                mt_count_text(blocks, (uint64_t)sqlite3_column_int64(row, 1)),
                mt_certainty_row(&least, (enum mt_certainty)sqlite3_column_int(row, 7)), category,
                safe);
    }
    mt_certainty_legend(out, " ", least);
}

int mt_run_text(struct mt_store *store, const struct mt_run *run, FILE *out,
                const struct mt_style *style)
{
    char date[MT_DATE_TEXT], time[MT_SIZE_TEXT], ended[DOUBT];
    fprintf(out, "Run %lld\n  %-16s %s, %s%s\n", (long long)run->id, "started",
            mt_date_text(date, run->started_unix_ns), mt_time_text(time, run->length_ns),
            doubt(ended, run, style));
    for (unsigned i = 0; i < MT_RUN_TEXT_COUNT; i++)
        print_line(out, style, mt_run_text_names[i], run->text[i]);
    print_line(out, style, "tags", run->tags);
    if (run->world_size > 0)
        fprintf(out, "  %-16s %zu of %ld\n", "ranks", run->n_traces, run->world_size);
    print_traces(store, run, out, style);
    putc('\n', out);
    for (unsigned i = 0; i < mt_series_count(); i++)
        print_size(out, mt_certainty_mark(mt_series_certainty(store, run, i)), mt_series(i).label,
                   run->bytes[i]);
    print_size(out, ' ', "growth", run->growth);
    for (unsigned i = 0; i < MT_PHASE_COUNT; i++) {
        char name[64];
        snprintf(name, sizeof name, "peak in %s", mt_phase_names[i].label);
        print_size(out, ' ', name, run->most_in_phase[i]);
    }
    print_sites(store, run, out, style);
    return store->failed ? -1 : 0;
}
