/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"
#include "analyzer/support/database.h"
#include "analyzer/support/new-file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RETRY_MS 10

/* Messages for SQLite's codes; other codes use errno. Terminated by 0. */
static const struct {
    int code;
    const char *text;
} faults[] = {
    {SQLITE_BUSY, "locked by another process (--wait waits longer)"},
    {SQLITE_LOCKED, "locked by another process (--wait waits longer)"},
    {SQLITE_NOTADB, "not a history (not an SQLite file)"},
    {SQLITE_CORRUPT, "damaged (sqlite3's .recover may save its content)"},
    {SQLITE_FULL, "the disk is full"},
    {SQLITE_READONLY, "not writable"},
    {SQLITE_NOMEM, "out of memory"},
    {0, NULL},
};

static const char *meaning(int code)
{
    for (size_t i = 0; faults[i].code; i++)
        if (faults[i].code == (code & 0xff))
            return faults[i].text;
    return NULL;
}

/* Return the real reason: if SQLite cannot create a file, it tries to read it and reports ENOENT.
 */
static int why_no_file(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
             slash ? path : ".");
    return access(folder, W_OK | X_OK) ? errno : ENOENT;
}

/* Keep the first error. */
static int fail(struct mt_store *store, int code)
{
    if (store->failed)
        return -1;
    store->failed = code;
    int why = store->db ? sqlite3_system_errno(store->db) : 0;
    const char *text = meaning(code);
    if (why == ENOENT)
        why = why_no_file(store->path);
    if (!text && why && (code & 0xff) != SQLITE_ERROR)
        text = strerror(why);
    if (!text)
        text = store->db ? sqlite3_errmsg(store->db) : "out of memory";
    snprintf(store->error, sizeof store->error,
             "%s: %s; nothing was changed; --db names another history", store->path, text);
    return -1;
}

static int refuse(struct mt_store *store, const char *why)
{
    store->failed = SQLITE_MISUSE;
    snprintf(store->error, sizeof store->error, "%s: %s", store->path, why);
    return -1;
}

void mt_store_no_memory(struct mt_store *store)
{
    fail(store, SQLITE_NOMEM);
}

static sqlite3_stmt *prepare(struct mt_store *store, const char *sql, const char *types,
                             va_list values)
{
    sqlite3_stmt *statement = NULL;
    if (store->failed)
        return NULL;
    int rc = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
    for (int i = 1; !rc && *types; i++, types++)
        rc = *types == 'i' ? sqlite3_bind_int64(statement, i, va_arg(values, int64_t))
                           : sqlite3_bind_text(statement, i, va_arg(values, const char *), -1,
                                               SQLITE_TRANSIENT);
    if (!rc)
        return statement;
    fail(store, rc);
    sqlite3_finalize(statement);
    return NULL;
}

sqlite3_stmt *mt_sql(struct mt_store *store, const char *sql, const char *types, ...)
{
    va_list values;
    va_start(values, types);
    sqlite3_stmt *statement = prepare(store, sql, types, values);
    va_end(values);
    return statement;
}

bool mt_sql_next(struct mt_store *store, sqlite3_stmt *statement)
{
    int rc = statement ? sqlite3_step(statement) : SQLITE_DONE;
    if (rc == SQLITE_ROW)
        return true;
    if (rc != SQLITE_DONE)
        fail(store, sqlite3_extended_errcode(store->db));
    sqlite3_finalize(statement);
    return false;
}

const char *mt_sql_text(sqlite3_stmt *statement, int column)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    return text ? (const char *)text : "";
}

int mt_sql_run(struct mt_store *store, const char *sql, const char *types, ...)
{
    va_list values;
    va_start(values, types);
    sqlite3_stmt *statement = prepare(store, sql, types, values);
    va_end(values);
    while (mt_sql_next(store, statement))
        ;
    return store->failed ? -1 : 0;
}

int64_t mt_sql_number(struct mt_store *store, int64_t without, const char *sql, const char *types,
                      ...)
{
    va_list values;
    va_start(values, types);
    sqlite3_stmt *statement = prepare(store, sql, types, values);
    va_end(values);
    if (!mt_sql_next(store, statement))
        return without;
    int64_t number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return number;
}

static int run_all(struct mt_store *store, const char *sql)
{
    if (!store->failed && sqlite3_exec(store->db, sql, NULL, NULL, NULL))
        fail(store, sqlite3_extended_errcode(store->db));
    return store->failed ? -1 : 0;
}

int mt_store_begin(struct mt_store *store)
{
    return run_all(store, "BEGIN IMMEDIATE");
}

int mt_store_end(struct mt_store *store)
{
    int rc = run_all(store, "COMMIT");
    if (rc && !sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

/* Return the file's version; 0: empty, -1: unusable. */
static int version_of(struct mt_store *store, int newest)
{
    char text[160];
    int64_t application = mt_sql_number(store, 0, "PRAGMA application_id", "");
    int64_t version = mt_sql_number(store, 0, "PRAGMA user_version", "");
    int64_t tables = mt_sql_number(store, 0, "SELECT count(*) FROM sqlite_master", "");
    if (store->failed)
        return -1;
    if (application != MT_STORE_APPLICATION && (application || version || tables))
        return refuse(store, "an SQLite file, but not a memtap history; name another with --db");
    if (version <= newest)
        return (int)version;
    snprintf(text, sizeof text,
             "written by a newer memtap (version %lld; this one knows %d); use that one, or give "
             "another --db",
             (long long)version, newest);
    return refuse(store, text);
}

/* Return the version as of one moment: another process may be creating the file. */
static int version_now(struct mt_store *store, int newest)
{
    run_all(store, "BEGIN");
    int version = version_of(store, newest);
    if (!sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return version;
}

/* Check the version again within the transaction: another process may have been faster. */
int mt_store_migrate(struct mt_store *store, const char *const *steps, int n)
{
    char set[128];
    int version = version_now(store, n);
    if (version < 0 || version == n)
        return version < 0 ? -1 : 0;
    snprintf(set, sizeof set, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             MT_STORE_APPLICATION, n);
    mt_store_begin(store);
    for (version = version_of(store, n); version >= 0 && version < n; version++)
        run_all(store, steps[version]);
    run_all(store, set);
    return mt_store_end(store);
}

/* Use WAL, so that readers do not wait for writers. SQLite does not wait for a lock here by itself.
 * Network file systems do not support WAL and keep the old mode. */
static void use_wal(struct mt_store *store, unsigned wait_ms)
{
    int rc = SQLITE_BUSY;
    for (unsigned waited = 0; rc == SQLITE_BUSY && waited <= wait_ms; waited += RETRY_MS) {
        rc = sqlite3_exec(store->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
        if (rc == SQLITE_BUSY)
            usleep(RETRY_MS * 1000);
    }
    if (rc)
        fail(store, sqlite3_extended_errcode(store->db));
}

static int open_file(struct mt_store *store, const char *name, int flags, unsigned wait_ms)
{
    /* our view, and tables of site-changes.c */
    static const char *const inner[] = {"named_site", "one", "most", NULL};
    int rc = mt_database_open(&store->db, name, flags, inner);
    if (rc)
        return fail(store, store->db ? sqlite3_extended_errcode(store->db) : rc);
    sqlite3_extended_result_codes(store->db, 1);
    sqlite3_busy_timeout(store->db, (int)wait_ms);
    return run_all(store, "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL");
}

static void forget(struct mt_store *store)
{
    sqlite3_close(store->db);
    *store = (struct mt_store){.path = store->path};
}

/* Write a file's URI, with special characters as numbers. */
static void write_uri(char *to, size_t size, const char *path)
{
    int n = snprintf(to, size, "file:");
    for (; *path && (size_t)n + 32 < size; path++)
        n += snprintf(to + n, size - (size_t)n, strchr("?#%", *path) ? "%%%02x" : "%c",
                      (unsigned char)*path);
    snprintf(to + n, size - (size_t)n, "?immutable=1");
}

/* Open a database that does not change. In a folder without write permission, or on a full disk,
 * SQLite cannot create its auxiliary files. If there are none, no process is writing. */
static int open_unchanging(struct mt_store *store)
{
    char log[PATH_MAX + 8], uri[3 * PATH_MAX];
    struct stat status;
    snprintf(log, sizeof log, "%s-wal", store->path);
    if (!stat(log, &status) && status.st_size)
        return -1;
    forget(store);
    write_uri(uri, sizeof uri, store->path);
    return open_file(store, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, 0);
}

/* Return whether SQLite could not create its auxiliary files. */
static bool has_no_room(int code)
{
    code &= 0xff;
    return code == SQLITE_CANTOPEN || code == SQLITE_READONLY || code == SQLITE_IOERR ||
           code == SQLITE_FULL;
}

static int open_to_read(struct mt_store *store, unsigned wait_ms)
{
    if (access(store->path, F_OK)) {
        char text[160];
        snprintf(text, sizeof text, "%s; memtap history add creates a history, --db names one",
                 strerror(errno));
        return refuse(store, text);
    }
    open_file(store, store->path, SQLITE_OPEN_READWRITE, wait_ms);
    int version = version_now(store, mt_schema_version);
    if (version < 0 && has_no_room(store->failed) && !open_unchanging(store))
        version = version_now(store, mt_schema_version);
    if (version == 0)
        return refuse(store, "an empty file; memtap history add creates a history in it");
    return version < 0 ? -1 : mt_store_migrate(store, mt_schema_steps, mt_schema_version);
}

/* Create a new history with private permissions, as for traces; SQLite gives its auxiliary files
 * the same mode. An existing one keeps its mode, since a team may share it. */
static void make_private(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

int mt_store_open(struct mt_store *store, const char *path, enum mt_store_use use, unsigned wait_ms)
{
    *store = (struct mt_store){.path = path};
    if (use == MT_STORE_READ)
        return open_to_read(store, wait_ms);
    int rc = mt_check_output(path);
    if (rc)
        return refuse(store, mt_output_error(rc));
    make_private(path);
    open_file(store, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, wait_ms);
    if (version_now(store, mt_schema_version) < 0)
        return -1;
    use_wal(store, wait_ms);
    return mt_store_migrate(store, mt_schema_steps, mt_schema_version);
}

void mt_store_close(struct mt_store *store)
{
    sqlite3_close(store->db);
    store->db = NULL;
}
