/* SPDX-License-Identifier: Apache-2.0 */
/* Read two runs of a history as digests, so that they are compared as `memtap diff` compares
 * traces. */
#include "analyzer/support/grow.h"
#include "analyzer/support/text.h"
#include "compare/diff/diff.h"
#include "trend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char select_devices[] =
    "SELECT trace.id, ifnull(rank, -1), device.id, ifnull(number, ?2), allocated,"
    "  device.reserved, phase, iteration, iterations, growth, at_end FROM trace"
    " JOIN device ON device.trace = trace.id WHERE run = ?1 ORDER BY trace.id, number";

static const char select_categories[] = "SELECT name, size FROM category WHERE device = ?";

static const char select_sites[] =
    "SELECT category, f.text, p.text, line, o.text, m.text, size, blocks, certainty FROM site"
    " JOIN name f ON f.id = function JOIN name p ON p.id = file"
    " JOIN name o ON o.id = operator JOIN name m ON m.id = module WHERE device = ?";

static char *copy(struct mt_store *store, const char *of)
{
    char *text = strdup(of);
    if (!text)
        mt_store_no_memory(store);
    return text;
}

static enum mt_category category_of(const char *name)
{
    unsigned found = mt_category_find(name, strlen(name));
    return found < mt_n_categories ? (enum mt_category)found : MT_CATEGORY_OTHER;
}

static enum mt_phase phase_of(const char *name)
{
    enum mt_phase phase = mt_phase_find(name, strlen(name));
    return phase < MT_PHASE_COUNT ? phase : MT_PHASE_OUTSIDE;
}

static uint64_t number(sqlite3_stmt *row, int column)
{
    return (uint64_t)sqlite3_column_int64(row, column);
}

static void read_categories(struct mt_store *store, int64_t id, struct mt_digest_device *device)
{
    sqlite3_stmt *row = mt_sql(store, select_categories, "i", id);
    while (mt_sql_next(store, row))
        device->category[category_of(mt_sql_text(row, 0))] += number(row, 1);
}

/* Add a line's place. A history knows only a line's blocks at the peak, which also stand for its
 * place. */
static void add_place(struct mt_store *store, struct mt_digest_device *device,
                      const struct mt_digest_site *site)
{
    struct mt_digest_place *place = &device->place[device->n_places++];
    *place = (struct mt_digest_place){.function = copy(store, site->function),
                                      .file = copy(store, site->file),
                                      .line = site->line,
                                      .operator_name = copy(store, site->operator_name),
                                      .allocations = site->blocks,
                                      .most_bytes = site->bytes};
}

static void read_sites(struct mt_store *store, int64_t id, struct mt_digest_device *device)
{
    size_t sites = 0, places = 0;
    sqlite3_stmt *row = mt_sql(store, select_sites, "i", id);
    while (mt_sql_next(store, row)) {
        if (MT_GROW(device->site, sites, device->n_sites) ||
            MT_GROW(device->place, places, device->n_sites)) {
            mt_store_no_memory(store);
            continue;
        }
        struct mt_digest_site *site = &device->site[device->n_sites++];
        *site = (struct mt_digest_site){.category = category_of(mt_sql_text(row, 0)),
                                        .function = copy(store, mt_sql_text(row, 1)),
                                        .file = copy(store, mt_sql_text(row, 2)),
                                        .line = (uint32_t)sqlite3_column_int(row, 3),
                                        .operator_name = copy(store, mt_sql_text(row, 4)),
                                        .module = copy(store, mt_sql_text(row, 5)),
                                        .stack = copy(store, ""),
                                        .bytes = number(row, 6),
                                        .blocks = number(row, 7),
                                        .certainty = mt_certainty_find(mt_sql_text(row, 8))};
        if (!store->failed)
            add_place(store, device, site);
    }
    if (!store->failed)
        mt_digest_places_merge(device);
}

/* --- a run as digests, one a trace ----------------------------------------------------------- */

struct side {
    struct mt_digest *digest;
    size_t n, capacity;
};

static struct mt_digest_device *add_device(struct mt_store *store, struct side *side,
                                           sqlite3_stmt *row, int64_t *last)
{
    bool is_new = !side->n || sqlite3_column_int64(row, 0) != *last;
    if (is_new && MT_GROW(side->digest, side->capacity, side->n)) {
        mt_store_no_memory(store);
        return NULL;
    }
    if (is_new)
        side->digest[side->n++] = (struct mt_digest){
            .rank = (long)sqlite3_column_int64(row, 1), .world_size = -1, .group = 1};
    *last = sqlite3_column_int64(row, 0);
    struct mt_digest *digest = &side->digest[side->n - 1];
    size_t room = digest->n_devices;
    if (MT_GROW(digest->devices, room, digest->n_devices)) {
        mt_store_no_memory(store);
        return NULL;
    }
    return &digest->devices[digest->n_devices++];
}

static void read_run(struct mt_store *store, int64_t run, struct side *side)
{
    int64_t last = 0;
    sqlite3_stmt *row = mt_sql(store, select_devices, "ii", run, (int64_t)MT_NO_DEVICE);
    while (mt_sql_next(store, row)) {
        struct mt_digest_device *device = add_device(store, side, row, &last);
        if (!device)
            continue;
        int64_t id = sqlite3_column_int64(row, 2);
        device->device = sqlite3_column_int(row, 3);
        device->allocated = number(row, 4);
        device->reserved = number(row, 5);
        device->phase = phase_of(mt_sql_text(row, 6));
        device->iteration = (uint32_t)number(row, 7);
        device->iterations = (uint32_t)number(row, 8);
        device->growth = number(row, 9);
        device->at_end = number(row, 10);
        read_categories(store, id, device);
        read_sites(store, id, device);
    }
}

static void clear_side(struct side *side)
{
    for (size_t i = 0; i < side->n; i++)
        mt_digest_clear(&side->digest[i]);
    free(side->digest);
}

/* --- differences ----------------------------------------------------------------------------- */

static void clear_site(struct mt_site_change *site)
{
    char *const texts[] = {site->category,      site->function, site->file,
                           site->operator_name, site->module,   site->was};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
}

/* Return the line's former names; NULL: unchanged, or no memory. */
static char *was(struct mt_store *store, const struct mt_diff_site *site)
{
    const struct mt_line *line = site->was ? site->was : site->line;
    const char *file = site->was || !line->old_file ? line->file : line->old_file;
    const char *function = site->was || !line->old_function ? line->function : line->old_function;
    char *text = NULL;
    if (!site->was && !line->old_file && !line->old_function)
        return NULL;
    if (asprintf(&text, "%s %s", mt_last_part(file), function) < 0) {
        mt_store_no_memory(store);
        return NULL;
    }
    return text;
}

static int add_site(struct mt_store *store, struct mt_site_changes *changes, size_t *capacity,
                    const struct mt_diff_site *site)
{
    return MT_APPEND(changes->site, *capacity, changes->n,
                     (struct mt_site_change){
                         .category = copy(store, mt_categories[site->category].name),
                         .function = copy(store, site->line->function),
                         .file = copy(store, mt_last_part(site->line->file)),
                         .operator_name = copy(store, site->operator_name),
                         .module = copy(store, site->module),
                         .was = was(store, site),
                         .line = site->line->line,
                         .certainty = site->certainty,
                         .before = site->bytes.old,
                         .after = site->bytes.now,
                     });
}

static int list_sites(struct mt_store *store, struct mt_site_changes *changes,
                      const struct mt_diff_device *device, unsigned most)
{
    size_t capacity = 0;
    int rc = 0;
    for (size_t i = 0; !rc && i < device->n_sites && changes->n < most; i++)
        if (mt_change_of(&device->site[i].bytes))
            rc = add_site(store, changes, &capacity, &device->site[i]);
    return rc;
}

int mt_site_changes_find(struct mt_site_changes *changes, struct mt_store *store, int64_t before,
                         int64_t after, unsigned most)
{
    struct side old = {0}, now = {0};
    struct mt_diff diff = {0};
    *changes = (struct mt_site_changes){0};
    read_run(store, before, &old);
    read_run(store, after, &now);
    int rc = store->failed ? 0 : mt_diff_make(&diff, old.digest, old.n, now.digest, now.n);
    const struct mt_diff_device *device = rc ? NULL : mt_diff_main_device(&diff);
    if (device)
        rc = list_sites(store, changes, device, most);
    if (rc)
        mt_store_no_memory(store);
    mt_diff_clear(&diff);
    clear_side(&old);
    clear_side(&now);
    return store->failed ? -1 : 0;
}

void mt_site_changes_clear(struct mt_site_changes *changes)
{
    for (size_t i = 0; i < changes->n; i++)
        clear_site(&changes->site[i]);
    free(changes->site);
    *changes = (struct mt_site_changes){0};
}
