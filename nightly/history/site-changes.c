/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/grow.h"
#include "nightly/digest/names.h"
#include "trend.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sites are the same if their function and their file's name are: lines move, and a checkout is in
 * another folder each night. Of several ranks and devices the highest counts. */
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
    " ORDER BY category, file, function, operator, module";

static void last_part(sqlite3_context *context, int n, sqlite3_value **value)
{
    const char *path = n ? (const char *)sqlite3_value_text(*value) : NULL;
    sqlite3_result_text(context, path ? mt_last_part(path) : NULL, -1, SQLITE_TRANSIENT);
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

/* --- renamed -------------------------------------------------------------------------------- */

#define LEAST_ALIKE 0.5 /* the smaller size by the larger one */

/* How alike two sites are; 0: they are not one site under two names. */
static double alike(const struct mt_site_change *gone, const struct mt_site_change *new)
{
    double a = (double)gone->before, b = (double)new->after, ratio = a < b ? a / b : b / a;
    if (strcmp(gone->category, new->category) || strcmp(gone->operator_name, new->operator_name) ||
        ratio < LEAST_ALIKE)
        return 0;
    /* One name is likelier to change than several. */
    return ratio + !strcmp(gone->file, new->file) + !strcmp(gone->function, new->function) +
           !strcmp(gone->module, new->module);
}

static void clear_site(struct mt_site_change *site)
{
    char *const texts[] = {site->category,      site->function, site->file,
                           site->operator_name, site->module,   site->was};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    *site = (struct mt_site_change){0};
}

static int rename_site(struct mt_site_change *site, struct mt_site_change *gone)
{
    site->before = gone->before;
    if (asprintf(&site->was, "%s %s", gone->file, gone->function) < 0)
        site->was = NULL;
    clear_site(gone);
    return site->was ? 0 : -ENOMEM;
}

static bool is_gone(const struct mt_site_change *site)
{
    return site->before && !site->after;
}

static bool is_new(const struct mt_site_change *site)
{
    return site->after && !site->before;
}

static int pair_renamed(struct mt_site_changes *changes)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < changes->n; i++) {
        struct mt_site_change *new = &changes->site[i], *best = NULL;
        for (size_t j = 0; is_new(new) && j < changes->n; j++) {
            struct mt_site_change *gone = &changes->site[j];
            if (is_gone(gone) && alike(gone, new) > (best ? alike(best, new) : 0))
                best = gone;
        }
        if (best)
            rc = rename_site(new, best);
    }
    return rc;
}

static uint64_t difference(const struct mt_site_change *site)
{
    return site->after > site->before ? site->after - site->before : site->before - site->after;
}

static int by_difference(const void *left, const void *right)
{
    const struct mt_site_change *a = left, *b = right;
    if (difference(a) != difference(b))
        return difference(a) < difference(b) ? 1 : -1;
    const char *const x[] = {a->category, a->file, a->function, a->operator_name, a->module};
    const char *const y[] = {b->category, b->file, b->function, b->operator_name, b->module};
    int order = 0;
    for (size_t i = 0; !order && i < sizeof x / sizeof *x; i++)
        order = strcmp(x[i], y[i]);
    return order;
}

/* Keep the sites that have changed, the greatest differences first, at most so many. */
static void keep_most(struct mt_site_changes *changes, unsigned most)
{
    size_t kept = 0;
    for (size_t i = 0; i < changes->n; i++)
        if (difference(&changes->site[i]))
            changes->site[kept++] = changes->site[i];
        else
            clear_site(&changes->site[i]);
    changes->n = kept;
    if (kept)
        qsort(changes->site, kept, sizeof *changes->site, by_difference);
    for (; changes->n > most; changes->n--)
        clear_site(&changes->site[changes->n - 1]);
}

int mt_site_changes_find(struct mt_site_changes *changes, struct mt_store *store, int64_t before,
                         int64_t after, unsigned most)
{
    size_t capacity = 0;
    *changes = (struct mt_site_changes){0};
    if (sqlite3_create_function(store->db, "last_part", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                last_part, NULL, NULL))
        mt_store_no_memory(store);
    sqlite3_stmt *row = mt_sql(store, select_changes, "ii", before, after);
    while (mt_sql_next(store, row)) {
        if (mt_grow(&changes->site, &capacity, changes->n + 1, sizeof *changes->site))
            mt_store_no_memory(store);
        else
            read_site(store, row, &changes->site[changes->n++]);
    }
    if (!store->failed && pair_renamed(changes))
        mt_store_no_memory(store);
    if (!store->failed)
        keep_most(changes, most);
    return store->failed ? -1 : 0;
}

void mt_site_changes_clear(struct mt_site_changes *changes)
{
    for (size_t i = 0; i < changes->n; i++)
        clear_site(&changes->site[i]);
    free(changes->site);
    *changes = (struct mt_site_changes){0};
}
