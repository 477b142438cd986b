/* SPDX-License-Identifier: Apache-2.0 */
/* JSON output of list and show: memtap-history(5). */
#include "analyzer/print/json.h"
#include "history.h"

#include <errno.h>

/* Convert a column by its type: a text, a number, or null. */
static json_t *column(sqlite3_stmt *row, int index)
{
    switch (sqlite3_column_type(row, index)) {
    case SQLITE_INTEGER:
        return json_integer(sqlite3_column_int64(row, index));
    case SQLITE_NULL:
        return json_null();
    default:
        return mt_json_text(mt_sql_text(row, index));
    }
}

/* Make objects of rows, with the columns' names. */
static json_t *rows(struct mt_store *store, const char *sql, int64_t run)
{
    json_t *array = json_array();
    sqlite3_stmt *row = mt_sql(store, sql, "i", run);
    while (mt_sql_next(store, row)) {
        json_t *object = json_object();
        for (int i = 0; i < sqlite3_column_count(row); i++)
            json_object_set_new(object, sqlite3_column_name(row, i), column(row, i));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *run_object(const struct mt_run *run)
{
    json_t *categories = json_object(), *phases = json_object();
    for (unsigned i = MT_SERIES_CATEGORY; i < mt_series_count(); i++)
        json_object_set_new(categories, mt_series(i).name, mt_json_number(run->bytes[i]));
    for (unsigned i = 0; i < MT_PHASE_COUNT; i++)
        json_object_set_new(phases, mt_phase_names[i].name, mt_json_number(run->most_in_phase[i]));
    /* what OUTSIDE was called before 0.1 */
    json_object_set_new(phases, "startup", mt_json_number(run->most_in_phase[MT_PHASE_OUTSIDE]));
    json_t *object = json_pack(
        "{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "run",
        (json_int_t)run->id, "ended", mt_json_text_or_null(run->ended), "ended_text",
        *run->ended ? mt_json_text(run->ended_text) : json_null(), "started_unix_ns",
        mt_json_number(run->started_unix_ns), "length_ns", mt_json_number(run->length_ns), "events",
        mt_json_number(run->events), "lost", mt_json_number(run->lost), "complete", run->complete,
        "tags", mt_json_text(run->tags), "world_size", mt_json_index(run->world_size), "traces",
        mt_json_number(run->n_traces), "peak", mt_json_number(run->bytes[MT_SERIES_PEAK]),
        "reserved", mt_json_number(run->bytes[MT_SERIES_RESERVED]), "growth",
        mt_json_number(run->growth), "categories", categories, "phases", phases);
    for (unsigned i = 0; object && i < MT_RUN_TEXT_COUNT; i++)
        json_object_set_new(object, mt_run_text_names[i], mt_json_text(run->text[i]));
    return object;
}

int mt_runs_json(const struct mt_runs *runs, FILE *out)
{
    json_t *array = json_array();
    for (size_t i = 0; i < runs->n; i++)
        json_array_append_new(array, run_object(&runs->run[i]));
    return mt_json_print(out, json_pack("{s:s, s:o}", "schema", "memtap.runs/1", "runs", array), 0);
}

int mt_run_json(struct mt_store *store, const struct mt_run *run, FILE *out)
{
    json_t *object = run_object(run);
    if (!object)
        return -ENOMEM;
    json_object_set_new(object, "schema", json_string("memtap.run/1"));
    json_object_set_new(object, "traces",
                        rows(store,
                             "SELECT rank, path, sha256, size, kept, ended, ended_text FROM trace"
                             " WHERE run = ?"
                             " ORDER BY rank, id",
                             run->id));
    json_object_set_new(object, "devices",
                        rows(store,
                             "SELECT device.id AS id, trace.rank, number, allocated, reserved,"
                             " most_reserved, phase, iteration, iterations, growth, at_end"
                             " FROM device JOIN trace ON trace.id = trace WHERE run = ?"
                             " ORDER BY rank, number",
                             run->id));
    json_object_set_new(object, "certainty",
                        rows(store,
                             "SELECT device, name AS category, certainty FROM category"
                             " JOIN device ON device.id = device JOIN trace ON trace.id = trace"
                             " WHERE run = ? ORDER BY device, name",
                             run->id));
    json_object_set_new(object, "sites",
                        rows(store,
                             "SELECT device, category, function, file, line, operator, module,"
                             " size, blocks, certainty FROM named_site WHERE run = ?"
                             " ORDER BY size DESC, category, file, line",
                             run->id));
    if (!store->failed)
        return mt_json_print(out, object, 0);
    json_decref(object);
    return -EIO;
}
