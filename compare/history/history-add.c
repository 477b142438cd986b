/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/search.h"
#include "history.h"

#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#define MOST_SITES 200 /* of a device, the largest */
#define SECOND INT64_C(1000000000)
/* How far apart the ranks of a job may begin. */
#define SAME_JOB (600 * SECOND)
/* How far the start times in a trace and its tail may differ. */
#define SAME_PROCESS (SECOND / 100)

static int64_t number(uint64_t bytes)
{
    return bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
}

static const char *text(const char *known)
{
    return known ? known : "";
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (int64_t)time.tv_sec * SECOND + time.tv_nsec;
}

static int64_t started(const struct mt_digest *digest)
{
    return digest->started_unix_ns ? number(digest->started_unix_ns) : now();
}

int64_t mt_history_find(struct mt_store *store, const char *checksum)
{
    return mt_sql_number(store, 0, "SELECT run FROM trace WHERE sha256 = ?", "t", checksum);
}

/* Return the id of a name. Functions, files, operators and modules are stored once each. */
static int64_t name(struct mt_store *store, const char *known)
{
    mt_sql_run(store, "INSERT OR IGNORE INTO name (text) VALUES (?)", "t", text(known));
    return mt_sql_number(store, 0, "SELECT id FROM name WHERE text = ?", "t", text(known));
}

static void add_site(struct mt_store *store, int64_t device, const struct mt_digest_site *site)
{
    mt_sql_run(store, "INSERT INTO site VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", "itiiiiiiit",
               device, mt_categories[site->category].name, name(store, site->function),
               name(store, site->file), (int64_t)site->line, name(store, site->operator_name),
               name(store, site->module), number(site->bytes), number(site->blocks),
               mt_certainty_name(site->certainty));
}

MT_ORDER_OF_POINTERS(larger_first, struct mt_digest_site, MT_FALLING(bytes) ?: MT_COMPARE(a, b))

static void add_sites(struct mt_store *store, int64_t id, const struct mt_digest_device *device)
{
    const struct mt_digest_site **site = calloc(device->n_sites + 1, sizeof *site);
    if (!site)
        mt_store_no_memory(store);
    for (size_t i = 0; site && i < device->n_sites; i++)
        site[i] = &device->site[i];
    if (site)
        qsort(site, device->n_sites, sizeof *site, larger_first);
    for (size_t i = 0; i < device->n_sites && i < MOST_SITES && !store->failed; i++)
        if (site[i]->bytes)
            add_site(store, id, site[i]);
    free(site);
}

static void add_device(struct mt_store *store, int64_t trace, const struct mt_digest_device *device)
{
    mt_sql_run(store,
               "INSERT INTO device (trace, number, allocated, reserved, most_reserved, phase,"
               " iteration, iterations, growth, at_end)"
               " VALUES (?, nullif(?, -1), ?, ?, ?, ?, ?, ?, ?, ?)",
               "iiiiitiiii", trace, (int64_t)device->device, number(device->allocated),
               number(device->reserved), number(device->most_reserved),
               mt_phase_names[device->phase].name, (int64_t)device->iteration,
               (int64_t)device->iterations, number(device->growth), number(device->at_end));
    int64_t id = sqlite3_last_insert_rowid(store->db);
    for (unsigned i = 0; i < mt_n_categories; i++)
        if (device->category[i])
            mt_sql_run(store, "INSERT INTO category VALUES (?, ?, ?, ?)", "itit", id,
                       mt_categories[i].name, number(device->category[i]),
                       mt_certainty_name(device->certainty[i]));
    for (unsigned i = 0; i < MT_PHASE_COUNT; i++)
        if (device->most_in_phase[i])
            mt_sql_run(store, "INSERT INTO phase VALUES (?, ?, ?)", "iti", id,
                       mt_phase_names[i].name, number(device->most_in_phase[i]));
    add_sites(store, id, device);
}

/* Return the run to which a rank belongs; 0: none yet. */
static int64_t find_job(struct mt_store *store, const struct mt_new_trace *trace)
{
    const struct mt_digest *digest = &trace->digest;
    if (digest->rank < 0 || digest->world_size < 2)
        return 0;
    return mt_sql_number(
        store, 0,
        "SELECT id FROM run WHERE program = ?1 AND commit_id = ?2 AND world_size = ?3"
        " AND abs(started - ?4) < ?5"
        " AND NOT EXISTS (SELECT 1 FROM trace WHERE trace.run = run.id"
        "                 AND (rank IS NULL OR rank = ?6))"
        " ORDER BY abs(started - ?4) LIMIT 1",
        "ttiiii", text(digest->program), text(trace->commit), (int64_t)digest->world_size,
        started(digest), SAME_JOB, (int64_t)digest->rank);
}

static int64_t add_run(struct mt_store *store, const struct mt_new_trace *trace)
{
    const struct mt_digest *digest = &trace->digest;
    mt_sql_run(
        store,
        "INSERT INTO run (started, added, length, program, command, host, commit_id, branch,"
        " device, allocator, torch, cuda, python, memtap, world_size, events, lost, complete)"
        " VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, -1), 0, 0, 1)",
        "iittttttttttti", started(digest), now(), text(digest->program), text(digest->command),
        text(digest->host), text(trace->commit), text(trace->branch), text(digest->device_name),
        text(digest->allocator), text(digest->torch), text(digest->cuda), text(digest->python),
        text(digest->memtap), (int64_t)digest->world_size);
    return sqlite3_last_insert_rowid(store->db);
}

static void add_trace(struct mt_store *store, int64_t run, const struct mt_new_trace *trace)
{
    const struct mt_digest *digest = &trace->digest;
    char ended[MT_ENDED_TEXT];
    mt_sql_run(store,
               "INSERT INTO trace (run, path, sha256, size, kept, rank, ended, ended_text, pid,"
               " started, events, lost, complete)"
               " VALUES (?, ?, ?, ?, ?, nullif(?, -1), ?, ?, nullif(?, -1), ?, ?, ?, ?)",
               "ittiiittiiiii", run, trace->path, trace->checksum, number(trace->size),
               (int64_t)trace->is_kept, (int64_t)digest->rank, mt_ended_name(digest->ended.how),
               mt_ended_text(ended, &digest->ended), (int64_t)digest->pid, started(digest),
               number(digest->events), number(digest->lost), (int64_t)digest->complete);
    int64_t id = sqlite3_last_insert_rowid(store->db);
    for (size_t i = 0; i < digest->n_devices; i++)
        add_device(store, id, &digest->devices[i]);
    mt_sql_run(store,
               "UPDATE run SET started = min(started, ?), length = max(length, ?),"
               " events = events + ?, lost = lost + ?, complete = complete AND ? WHERE id = ?",
               "iiiiii", started(digest), number(digest->length_ns), number(digest->events),
               number(digest->lost), (int64_t)digest->complete, run);
    for (const char *const *tag = trace->tag; tag && *tag; tag++)
        mt_sql_run(store, "INSERT OR IGNORE INTO tag VALUES (?, ?)", "it", run, *tag);
}

/* Return a trace of the same process that was added while it was running, or before its trace was
 * recovered; 0: none. */
static int64_t find_earlier(struct mt_store *store, const struct mt_digest *digest)
{
    if (digest->pid < 0 || !digest->started_unix_ns)
        return 0;
    return mt_sql_number(store, 0,
                         "SELECT trace.id FROM trace JOIN run ON run.id = run WHERE pid = ?"
                         " AND NOT trace.complete AND abs(trace.started - ?) < ?"
                         " AND host = ? AND program = ?",
                         "iiitt", (int64_t)digest->pid, started(digest), SAME_PROCESS,
                         text(digest->host), text(digest->program));
}

/* Remove a trace from its run, which stays. Return the run. */
static int64_t remove_earlier(struct mt_store *store, int64_t id, char gone[PATH_MAX])
{
    int64_t run = mt_sql_number(store, 0, "SELECT run FROM trace WHERE id = ?", "i", id);
    sqlite3_stmt *rows = mt_sql(store, "SELECT path FROM trace WHERE id = ? AND kept", "i", id);
    while (mt_sql_next(store, rows))
        if (gone)
            snprintf(gone, PATH_MAX, "%s", mt_sql_text(rows, 0));
    mt_sql_run(store,
               "UPDATE run SET events = run.events - old.events, lost = run.lost - old.lost,"
               " complete = NOT EXISTS (SELECT 1 FROM trace WHERE run = ?1 AND id <> ?2"
               "                        AND NOT complete)"
               " FROM (SELECT events, lost FROM trace WHERE id = ?2) AS old WHERE run.id = ?1",
               "ii", run, id);
    mt_sql_run(store, "DELETE FROM trace WHERE id = ?", "i", id);
    return run;
}

int mt_history_add(struct mt_store *store, const struct mt_new_trace *trace, int64_t *run,
                   bool *is_new, char gone[PATH_MAX])
{
    mt_store_begin(store);
    *run = mt_history_find(store, trace->checksum);
    *is_new = !*run;
    int64_t earlier = *is_new ? find_earlier(store, &trace->digest) : 0;
    if (earlier)
        *run = remove_earlier(store, earlier, gone);
    else if (*is_new)
        *run = find_job(store, trace);
    if (!*run)
        *run = add_run(store, trace);
    if (*is_new)
        add_trace(store, *run, trace);
    return mt_store_end(store);
}

int mt_history_forget(struct mt_store *store, const struct mt_runs *runs, mt_kept_file *kept,
                      void *user)
{
    static const char unused[] =
        "DELETE FROM name WHERE id NOT IN (SELECT function FROM site UNION SELECT file FROM site"
        " UNION SELECT operator FROM site UNION SELECT module FROM site)";
    static const char list[] = "CREATE TEMP TABLE gone (path TEXT NOT NULL)";
    mt_sql_run(store, list, "");
    mt_store_begin(store);
    for (size_t i = 0; i < runs->n; i++) {
        mt_sql_run(store, "INSERT INTO gone SELECT path FROM trace WHERE run = ? AND kept", "i",
                   runs->run[i].id);
        mt_sql_run(store, "DELETE FROM run WHERE id = ?", "i", runs->run[i].id);
    }
    mt_sql_run(store, unused, "");
    if (mt_store_end(store))
        return -1;
    sqlite3_stmt *rows = mt_sql(store, "SELECT path FROM gone", "");
    while (mt_sql_next(store, rows))
        kept(user, mt_sql_text(rows, 0));
    return mt_sql_run(store, "DROP TABLE gone", "");
}
