/* SPDX-License-Identifier: Apache-2.0 */
#include "export.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

/* Lets rows through that live in the times that are asked for. */
struct between {
    const struct mt_export *export;
    mt_row_taker *take;
    void *data;
};

static int take_between(void *data, const struct mt_row *row)
{
    const struct between *between = data;
    const struct mt_export *export = between->export;
    bool is_block = export->table == MT_TABLE_BLOCKS;
    unsigned end = MT_BLOCKS_END_NS;
    uint64_t from = (uint64_t)row->at[is_block ? (unsigned)MT_BLOCKS_TIME_NS : MT_EVENTS_TIME_NS];
    uint64_t to = !is_block ? from : row->nulls >> end & 1 ? UINT64_MAX : (uint64_t)row->at[end];
    return from <= export->to_ns && to >= export->from_ns ? between->take(between->data, row) : 0;
}

int mt_export_rows(const struct mt_export *export, struct mt_rows *rows, const char *path,
                   mt_row_taker *take, void *data, struct mt_export_error *error)
{
    struct mt_trace_error fault = {0};
    struct between between = {export, take, data};
    if (export->has_moment && export->table == MT_TABLE_BLOCKS) {
        struct mt_analysis analysis;
        int rc = mt_export_analyze(export, path, &analysis, error);
        if (!rc)
            rc = mt_rows_live(rows, &analysis, take, data, &fault);
        mt_analysis_destroy(&analysis);
        return mt_export_note(error, path, &fault, rc);
    }
    if (export->has_times && export->table != MT_TABLE_STACKS) {
        take = take_between;
        data = &between;
    }
    return mt_export_note(error, path, &fault,
                          mt_rows_read(rows, export->table, take, data, &fault));
}
