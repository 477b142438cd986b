/* SPDX-License-Identifier: Apache-2.0 */
#include "database.h"
#include "analyzer/support/room.h"

#include <string.h>

#define MOST_VALUE (64 << 20) /* bytes */
#define LOOK_EACH 65536       /* instructions of SQLite's machine */
#define INSTRUCTIONS_A_STEP 8

/* Authorize an action. inner: the view, trigger or WITH table whose definition performs it; NULL:
 * the query itself. */
static int allow(void *data, int action, const char *a, const char *b, const char *schema,
                 const char *inner)
{
    const char *const *known = data;
    (void)action, (void)a, (void)b, (void)schema;
    while (inner && *known && strcmp(*known, inner) != 0)
        known++;
    return !inner || *known ? SQLITE_OK : SQLITE_DENY;
}

static int count(void *unused)
{
    (void)unused;
    return mt_work_is_too_much(LOOK_EACH / INSTRUCTIONS_A_STEP);
}

int mt_database_open(sqlite3 **database, const char *name, int flags, const char *const *inner)
{
    mt_room_input(name);
    int rc = sqlite3_open_v2(name, database, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc)
        return rc;
    sqlite3_limit(*database, SQLITE_LIMIT_LENGTH, MOST_VALUE);
    sqlite3_db_config(*database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    /* Sort within the process's memory limit: otherwise a column of zeroblob(60000000) in 300 rows
     * writes gigabytes of temporary files. */
    rc = sqlite3_exec(*database, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
    if (mt_room())
        sqlite3_hard_heap_limit64((sqlite3_int64)mt_room());
    sqlite3_set_authorizer(*database, allow, (void *)inner);
    sqlite3_progress_handler(*database, LOOK_EACH, count, NULL);
    return rc;
}
