/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/grow.h"
#include "trend.h"

#include <stdlib.h>
#include <string.h>

/* Sites are the same where their function is and the file has the same name: lines move, and a
 * checkout is in another folder each night. Of several ranks and devices the highest counts. */
static const char select_changes[] =
    "WITH one AS (SELECT run, category, function, last_part(file) AS file, operator, module,"
    "  max(line) AS line, sum(size) AS size FROM named_site WHERE run IN (?1, ?2)"
    "  GROUP BY run, device, category, function, last_part(file), operator, module),"
    " most AS (SELECT run, category, function, file, operator, module, max(line) AS line,"
    "  max(size) AS size FROM one GROUP BY run, category, function, file, operator, module)"
    " SELECT category, function, file, operator, module,"
    "  max(CASE WHEN run = ?2 THEN line ELSE 0 END), max(line),"
    "  sum(CASE WHEN run = ?1 THEN size ELSE 0 END) AS before,"
    "  sum(CASE WHEN run = ?2 THEN size ELSE 0 END) AS after"
    " FROM most GROUP BY category, function, file, operator, module HAVING before <> after"
    " ORDER BY abs(after - before) DESC, category, file, function, operator, module LIMIT ?3";

static void last_part(sqlite3_context *context, int n, sqlite3_value **value)
{
    const char *path = n ? (const char *)sqlite3_value_text(*value) : NULL;
    const char *slash = path ? strrchr(path, '/') : NULL;
    sqlite3_result_text(context, slash ? slash + 1 : path, -1, SQLITE_TRANSIENT);
}

static char *copy(struct mt_store *store, sqlite3_stmt *row, int column)
{
    char *text = strdup(mt_sql_text(row, column));
    if (!text)
        mt_store_no_memory(store);
    return text;
}

static void read_site(struct mt_store *store, sqlite3_stmt *row, struct mt_site_change *site)
{
    char **const texts[] = {&site->category, &site->function, &site->file, &site->operator_name,
                            &site->module};
    for (int i = 0; i < (int)(sizeof texts / sizeof *texts); i++)
        *texts[i] = copy(store, row, i);
    int line = sqlite3_column_int(row, 5);
    site->line = (uint32_t)(line ? line : sqlite3_column_int(row, 6));
    site->before = (uint64_t)sqlite3_column_int64(row, 7);
    site->after = (uint64_t)sqlite3_column_int64(row, 8);
}

int mt_site_changes_find(struct mt_site_changes *changes, struct mt_store *store, int64_t before,
                         int64_t after, unsigned most)
{
    size_t capacity = 0;
    *changes = (struct mt_site_changes){0};
    if (sqlite3_create_function(store->db, "last_part", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                last_part, NULL, NULL))
        mt_store_no_memory(store);
    sqlite3_stmt *row = mt_sql(store, select_changes, "iii", before, after, (int64_t)most);
    while (mt_sql_next(store, row)) {
        if (mt_grow(&changes->site, &capacity, changes->n + 1, sizeof *changes->site))
            mt_store_no_memory(store);
        else
            read_site(store, row, &changes->site[changes->n++]);
    }
    return store->failed ? -1 : 0;
}

void mt_site_changes_clear(struct mt_site_changes *changes)
{
    for (size_t i = 0; i < changes->n; i++) {
        struct mt_site_change *site = &changes->site[i];
        char *const texts[] = {site->category, site->function, site->file, site->operator_name,
                               site->module};
        for (size_t j = 0; j < sizeof texts / sizeof *texts; j++)
            free(texts[j]);
    }
    free(changes->site);
    *changes = (struct mt_site_changes){0};
}
