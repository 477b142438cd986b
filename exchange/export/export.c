/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the formats: analyzing a trace, rows of tables, errors. */
#include "export.h"

#include <errno.h>
#include <stdio.h>

int mt_export_note(struct mt_export_error *error, const char *path,
                   const struct mt_trace_error *fault, int rc)
{
    if (!error->path && (rc || fault->fault)) {
        error->path = path;
        error->fault = *fault;
    }
    return rc;
}

static int lacks(struct mt_export_error *error, const char *path, const char *why)
{
    error->path = path;
    snprintf(error->text, sizeof error->text, "%s", why);
    return -ENODATA;
}

int mt_export_analyze(const struct mt_export *export, const char *path,
                      struct mt_analysis *analysis, struct mt_export_error *error)
{
    int rc = mt_analysis_create(analysis, path, &export->question);
    mt_export_note(error, path, &analysis->fault, rc);
    if (rc)
        return rc;
    char why[MT_NO_MOMENT];
    if (mt_no_moment_text(analysis, why))
        return lacks(error, path, why);
    return 0;
}

int mt_export_rows(const struct mt_export *export, mt_export_taker *take, void *data,
                   struct mt_export_error *error)
{
    const struct mt_rows_query query = {.table = export->table,
                                        .question = export->question,
                                        .whole_run = !export->has_moment,
                                        .has_times = export->has_times,
                                        .from_ns = export->from_ns,
                                        .to_ns = export->to_ns};
    struct mt_feed feed = {
        .query = &query, .paths = (const char *const *)export->paths, .n_paths = export->n_paths};
    struct mt_columns columns = {0};
    struct mt_trace_error fault;
    int rc;
    while ((rc = mt_feed_next(&feed, &columns, &fault))) {
        if (rc < 0)
            mt_export_note(error, export->paths[feed.next - 1], &fault, rc);
        if (rc < 0 && rc != -EBADMSG)
            break;
        if (rc > 0 && (rc = take(data, &columns)))
            break;
    }
    mt_feed_close(&feed);
    mt_columns_clear(&columns);
    return rc;
}
