/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/grow.h"
#include "analyzer/support/text.h"
#include "history.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MT_RUN_NAME(id, name, column) [MT_RUN_##id] = name,
const char *const mt_run_text_names[MT_RUN_TEXT_COUNT] = {MT_RUN_TEXTS(MT_RUN_NAME)};
#undef MT_RUN_NAME

unsigned mt_series_count(void)
{
    return MT_SERIES_CATEGORY + mt_n_categories;
}

struct mt_series_name mt_series(unsigned series)
{
    static const struct mt_series_name whole[] = {
        [MT_SERIES_PEAK] = {"peak", "peak"}, [MT_SERIES_RESERVED] = {"reserved", "reserved"}};
    if (series < MT_SERIES_CATEGORY)
        return whole[series];
    const struct mt_category_info *category = &mt_categories[series - MT_SERIES_CATEGORY];
    return (struct mt_series_name){category->name, category->label};
}

/* read_run expects the columns in this order. */
#define MT_RUN_COLUMN(id, name, column) ", run." column
#define WORST_TRACE                                                                                \
    " FROM trace WHERE trace.run = run.id"                                                         \
    " ORDER BY ended = 'oom' DESC, ended NOT IN ('', 'whole') DESC, ended_text != 'whole' DESC,"   \
    " rank, id LIMIT 1"
static const char select_runs[] =
    "SELECT id, started, length, events, lost, complete, ifnull(world_size, -1),"
    " (SELECT count(*) FROM trace WHERE trace.run = run.id),"
    " (SELECT ifnull(group_concat(name, ', '), '') FROM tag WHERE tag.run = run.id),"
    " ifnull((SELECT ended" WORST_TRACE "), ''), ifnull((SELECT ended_text" WORST_TRACE
    "), '')" MT_RUN_TEXTS(
        MT_RUN_COLUMN) " FROM run"
                       " WHERE (?1 IS NULL OR branch = ?1)"
                       " AND (?2 IS NULL OR EXISTS (SELECT 1 FROM tag WHERE tag.run = run.id AND "
                       "name = ?2))"
                       " AND (?3 IS NULL OR program = ?3"
                       "      OR substr(program, -length(?3) - 1) = '/' || ?3)"
                       " AND started >= ?4 AND (?5 = 0 OR id = ?5)"
                       " ORDER BY started DESC, id DESC LIMIT ?6";
#undef MT_RUN_COLUMN

static void keep(char **to, const char *text, struct mt_store *store)
{
    *to = strdup(text);
    if (!*to)
        mt_store_no_memory(store);
}

static void read_run(struct mt_store *store, sqlite3_stmt *row, struct mt_run *run)
{
    run->id = sqlite3_column_int64(row, 0);
    run->started_unix_ns = (uint64_t)sqlite3_column_int64(row, 1);
    run->length_ns = (uint64_t)sqlite3_column_int64(row, 2);
    run->events = (uint64_t)sqlite3_column_int64(row, 3);
    run->lost = (uint64_t)sqlite3_column_int64(row, 4);
    run->complete = sqlite3_column_int(row, 5);
    run->world_size = (long)sqlite3_column_int64(row, 6);
    run->n_traces = (size_t)sqlite3_column_int64(row, 7);
    keep(&run->tags, mt_sql_text(row, 8), store);
    keep(&run->ended, mt_sql_text(row, 9), store);
    keep(&run->ended_text, mt_sql_text(row, 10), store);
    for (int i = 0; i < MT_RUN_TEXT_COUNT; i++)
        keep(&run->text[i], mt_sql_text(row, 11 + i), store);
}

static void read_sizes(struct mt_store *store, struct mt_run *run)
{
    sqlite3_stmt *row = mt_sql(store,
                               "SELECT max(allocated), max(most_reserved), max(growth), count(*)"
                               " FROM device JOIN trace ON trace.id = trace WHERE run = ?",
                               "i", run->id);
    while (mt_sql_next(store, row)) {
        run->bytes[MT_SERIES_PEAK] = (uint64_t)sqlite3_column_int64(row, 0);
        run->bytes[MT_SERIES_RESERVED] = (uint64_t)sqlite3_column_int64(row, 1);
        run->growth = (uint64_t)sqlite3_column_int64(row, 2);
        run->has_memory = sqlite3_column_int64(row, 3) > 0;
    }
}

/* Read the categories. A name that memtap does not know is a user's category. Skip it if there is
 * no room. */
static void read_categories(struct mt_store *store, struct mt_run *run)
{
    sqlite3_stmt *row = mt_sql(store,
                               "SELECT name, max(category.size) FROM category"
                               " JOIN device ON device.id = device JOIN trace ON trace.id = trace"
                               " WHERE run = ? GROUP BY name",
                               "i", run->id);
    while (mt_sql_next(store, row)) {
        const char *name = mt_sql_text(row, 0);
        mt_category_add(name, strlen(name), NULL);
        unsigned i = mt_category_find(name, strlen(name));
        if (i < mt_n_categories)
            run->bytes[MT_SERIES_CATEGORY + i] = (uint64_t)sqlite3_column_int64(row, 1);
    }
}

static void read_phases(struct mt_store *store, struct mt_run *run)
{
    sqlite3_stmt *row = mt_sql(store,
                               "SELECT name, max(phase.allocated) FROM phase"
                               " JOIN device ON device.id = device JOIN trace ON trace.id = trace"
                               " WHERE run = ? GROUP BY name",
                               "i", run->id);
    while (mt_sql_next(store, row)) {
        const char *name = mt_sql_text(row, 0);
        enum mt_phase phase = mt_phase_find(name, strlen(name));
        uint64_t most = (uint64_t)sqlite3_column_int64(row, 1);
        if (phase < MT_PHASE_COUNT && most > run->most_in_phase[phase])
            run->most_in_phase[phase] = most;
    }
}

static void reverse(struct mt_runs *runs)
{
    for (size_t i = 0; i < runs->n / 2; i++) {
        struct mt_run run = runs->run[i];
        runs->run[i] = runs->run[runs->n - 1 - i];
        runs->run[runs->n - 1 - i] = run;
    }
}

int mt_history_runs(struct mt_store *store, const struct mt_run_filter *filter,
                    struct mt_runs *runs)
{
    size_t capacity = 0;
    *runs = (struct mt_runs){0};
    mt_sql_run(store, "BEGIN", ""); /* read everything as of one moment */
    sqlite3_stmt *row = mt_sql(store, select_runs, "tttiii", filter->branch, filter->tag,
                               filter->program, (int64_t)filter->since_unix_ns, filter->id,
                               filter->last ? (int64_t)filter->last : (int64_t)-1);
    while (mt_sql_next(store, row)) {
        if (MT_GROW(runs->run, capacity, runs->n)) {
            mt_store_no_memory(store);
            continue;
        }
        read_run(store, row, &runs->run[runs->n++]);
    }
    for (size_t i = 0; i < runs->n; i++) {
        read_sizes(store, &runs->run[i]);
        read_categories(store, &runs->run[i]);
        read_phases(store, &runs->run[i]);
    }
    reverse(runs);
    return mt_sql_run(store, "COMMIT", "");
}

void mt_run_clear(struct mt_run *run)
{
    free(run->tags);
    free(run->ended);
    free(run->ended_text);
    for (size_t i = 0; i < MT_RUN_TEXT_COUNT; i++)
        free(run->text[i]);
}

void mt_runs_clear(struct mt_runs *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        mt_run_clear(&runs->run[i]);
    free(runs->run);
    *runs = (struct mt_runs){0};
}

bool mt_run_is_good(const struct mt_run *run, mt_allowed_ends allowed)
{
    enum mt_ended_how how = mt_ended_find(run->ended, strlen(run->ended));
    bool is_known = how < MT_ENDED_COUNT;
    return !run->lost &&
           (is_known ? mt_is_allowed_end(allowed, &(struct mt_ended){.how = how}) : run->complete);
}

const char *mt_run_program(const struct mt_run *run)
{
    return mt_last_part(run->text[MT_RUN_PROGRAM]);
}

const char *mt_series_label(const char *name)
{
    for (unsigned i = 0; i < mt_series_count(); i++)
        if (!strcmp(mt_series(i).name, name))
            return mt_series(i).label;
    return name;
}

const char *mt_date_text(char out[MT_DATE_TEXT], uint64_t unix_ns)
{
    time_t seconds = (time_t)(unix_ns / 1000000000u);
    struct tm date;
    if (!localtime_r(&seconds, &date) || !strftime(out, MT_DATE_TEXT, "%Y-%m-%d %H:%M", &date))
        snprintf(out, MT_DATE_TEXT, "?");
    return out;
}
