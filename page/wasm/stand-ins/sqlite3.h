/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of SQLite that nsight.c uses: SQLite itself would make the page 1.7 times as large. It
 * reads one query, "SELECT COLUMN, ... FROM TABLE [ORDER BY COLUMN, rowid]", ordered by its first
 * column, and values as 64-bit integers.
 */
#ifndef MT_PAGE_SQLITE_H
#define MT_PAGE_SQLITE_H

#include <stdint.h>

#define SQLITE_OK 0
#define SQLITE_ERROR 1
#define SQLITE_DENY 1
#define SQLITE_OPEN_READONLY 1
#define SQLITE_OPEN_NOMUTEX 0x8000
#define SQLITE_ROW 100
#define SQLITE_DONE 101

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
typedef int64_t sqlite3_int64;

int sqlite3_open_v2(const char *name, sqlite3 **database, int flags, const char *system);

const char *sqlite3_errmsg(sqlite3 *database);
int sqlite3_prepare_v2(sqlite3 *database, const char *sql, int size, sqlite3_stmt **out,
                       const char **rest);
int sqlite3_step(sqlite3_stmt *rows);
int sqlite3_column_int(sqlite3_stmt *rows, int column);
int64_t sqlite3_column_int64(sqlite3_stmt *rows, int column);
int sqlite3_finalize(sqlite3_stmt *rows);
int sqlite3_close(sqlite3 *database);

/* What database.c sets does not matter here: no query but the one above runs. */
#define SQLITE_LIMIT_LENGTH 0
#define SQLITE_DBCONFIG_DEFENSIVE 0
#define sqlite3_limit(...) ((void)0)
#define sqlite3_db_config(...) ((void)0)
#define sqlite3_exec(...) SQLITE_OK
#define sqlite3_hard_heap_limit64(...) ((void)0)
#define sqlite3_set_authorizer(database, allow, data) ((void)(allow), (void)(data))
#define sqlite3_progress_handler(database, steps, count, data) ((void)(count))

#endif
