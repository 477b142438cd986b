/* SPDX-License-Identifier: Apache-2.0 */
/* Nsight Systems' SQLite export: device memory that CUDA handed out (nsys profile
 * --cuda-memory-usage=true). */
#include "analyzer/support/database.h"
#include "import.h"
#include "trace-format/cuda-apis.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>

/* Kinds of memory as ENUM_CUDA_MEM_KIND numbers them. */
enum {
    KIND_PAGEABLE,
    KIND_PINNED,
    KIND_DEVICE,
    KIND_ARRAY,
    KIND_MANAGED,
    KIND_DEVICE_STATIC,
    KIND_MANAGED_STATIC
};

static const char *const no_views[] = {NULL};
static const char events_sql[] =
    "SELECT start, deviceId, address, bytes, memKind, memoryOperationType FROM "
    "CUDA_GPU_MEMORY_USAGE_EVENTS ORDER BY start, rowid";

static int fail(struct mt_import_error *error, sqlite3 *database, const char *what)
{
    const char *why = sqlite3_errmsg(database);
    if (strstr(why, "no such table"))
        snprintf(error->text, sizeof error->text,
                 "no table CUDA_GPU_MEMORY_USAGE_EVENTS; profile with "
                 "--cuda-memory-usage=true, then nsys export --type sqlite");
    else
        snprintf(error->text, sizeof error->text, "%s: %.300s", what, why);
    return -EBADMSG;
}

static int api_of(int kind, bool is_free)
{
    switch (kind) {
    case KIND_PINNED:
        return is_free ? MT_API_CUDA_FREE_HOST : MT_API_CUDA_HOST_ALLOC;
    case KIND_ARRAY:
        return is_free ? MT_API_CUDA_FREE_ARRAY : MT_API_CUDA_MALLOC_ARRAY;
    case KIND_MANAGED:
    case KIND_MANAGED_STATIC:
        return is_free ? MT_API_CUDA_FREE : MT_API_CUDA_MALLOC_MANAGED;
    default:
        return is_free ? MT_API_CUDA_FREE : MT_API_CUDA_MALLOC;
    }
}

/* Return the Unix time when the session started; 0: unknown. */
static int64_t session_start(sqlite3 *database)
{
    static const char sql[] = "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME";
    sqlite3_stmt *row = NULL;
    int64_t start_ns = 0;
    if (!sqlite3_prepare_v2(database, sql, -1, &row, NULL) && sqlite3_step(row) == SQLITE_ROW)
        start_ns = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return start_ns > 0 && start_ns < INT64_MAX / 2 ? start_ns : 0;
}

/* Write the start. Times count from the session's start, or are Unix time (nsys export --ts-
 * normalize). */
static void write_start(struct mt_script *script, sqlite3 *database, int64_t first_ns)
{
    int64_t start_ns = session_start(database);
    if (start_ns && first_ns < start_ns / 2 && first_ns > -start_ns)
        mt_script_start(script, start_ns + first_ns);
    else
        mt_script_start(script, first_ns);
}

static void write_row(struct mt_script *script, sqlite3_stmt *row, int64_t first_ns)
{
    int64_t since = 0, bytes = sqlite3_column_int64(row, 3);
    if (__builtin_sub_overflow(sqlite3_column_int64(row, 0), first_ns, &since))
        since = 0;
    int kind = sqlite3_column_int(row, 4), device = sqlite3_column_int(row, 1);
    bool is_free = sqlite3_column_int(row, 5) == 1;
    struct mt_event event = {.time_ns = since > 0 ? (uint64_t)since : 0,
                             .kind = is_free ? MT_CUDA_FREE : MT_CUDA_MALLOC,
                             .device =
                                 (int16_t)(device >= 0 && device < 1024 ? device : MT_NO_DEVICE),
                             .thread = 1};
    event.address = (uint64_t)sqlite3_column_int64(row, 2);
    if (is_free) {
        event.CUDA_FREE.api = (uint64_t)api_of(kind, true);
    } else {
        event.size = bytes > 0 ? (uint64_t)bytes : 0;
        event.CUDA_MALLOC.api = (uint64_t)api_of(kind, false);
    }
    mt_script_event(script, &event);
}

int mt_import_nsight(const char *path, struct mt_script *script, struct mt_import_summary *summary,
                     struct mt_import_error *error)
{
    sqlite3 *database = NULL;
    sqlite3_stmt *rows = NULL;
    int64_t first_ns = 0;
    int step, rc = 0;
    mt_script_info(script, "imported", "Nsight Systems' SQLite export");
    if (mt_database_open(&database, path, SQLITE_OPEN_READONLY, no_views) ||
        sqlite3_prepare_v2(database, events_sql, -1, &rows, NULL))
        rc = fail(error, database, "cannot be read as a database");
    while (!rc && !script->rc && (step = sqlite3_step(rows)) != SQLITE_DONE) {
        if (step != SQLITE_ROW) {
            rc = fail(error, database, "cannot read the memory table");
            break;
        }
        int kind = sqlite3_column_int(rows, 4);
        if (kind == KIND_PAGEABLE)
            continue; /* the host's own */
        if (!summary->events++) {
            first_ns = sqlite3_column_int64(rows, 0);
            write_start(script, database, first_ns);
        }
        write_row(script, rows, first_ns);
    }
    if (!rc && !summary->events) {
        snprintf(error->text, sizeof error->text, "the memory table is empty");
        rc = -EBADMSG;
    }
    summary->lacks_stacks = true;
    sqlite3_finalize(rows);
    sqlite3_close(database);
    return rc ? rc : script->rc;
}
