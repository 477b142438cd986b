/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history's file: an SQLite database, checked to be ours and of this version. Several processes
 * may use it at a time. A store belongs to one thread.
 */
#ifndef MT_STORE_H
#define MT_STORE_H

#include <sqlite3.h>
#include <stdint.h>

/* "mtap", in the file's header, so that no other program's database is taken for one. */
#define MT_STORE_APPLICATION 0x6d746170

struct mt_store {
    sqlite3 *db;
    const char *path; /* the caller's */
    int failed;       /* 0, or SQLite's first error code: nothing is done after it */
    char error[512];  /* in words for the user: what and what to do, one line without a newline */
};

enum mt_store_use { MT_STORE_READ, MT_STORE_WRITE };

/* Steps from a version of the schema to the next: step i makes version i + 1. */
extern const char *const mt_schema_steps[];
extern const int mt_schema_version;

/*
 * Open a file. To write, create it if it is missing. Bring an older version up to date, by all
 * steps or none. wait_ms: how long to wait for other writers. Return 0, or -1 with store->error.
 * Call mt_store_close in any case.
 */
int mt_store_open(struct mt_store *store, const char *path, enum mt_store_use use,
                  unsigned wait_ms);
void mt_store_close(struct mt_store *store);

/* Bring the schema up to date; for mt_store_open, and for tests with steps of their own. */
int mt_store_migrate(struct mt_store *store, const char *const *steps, int n);

/* Begin a transaction: others see its changes only after mt_store_end. If anything fails, nothing
 * is changed. Return 0 or -1. */
int mt_store_begin(struct mt_store *store);
int mt_store_end(struct mt_store *store);

/* Note that memory ran out outside SQLite. */
void mt_store_no_memory(struct mt_store *store);

/*
 * Prepare a statement. types has a letter for each value: 'i' an int64_t, 't' a text (NULL: none).
 * Return NULL on failure. mt_sql_next returns 1 for each row; at the end or on failure it returns 0
 * and destroys the statement. mt_sql_text never returns NULL.
 */
sqlite3_stmt *mt_sql(struct mt_store *store, const char *sql, const char *types, ...);
int mt_sql_next(struct mt_store *store, sqlite3_stmt *statement);
const char *mt_sql_text(sqlite3_stmt *statement, int column);

/* Run statements without rows: 0 or -1. */
int mt_sql_run(struct mt_store *store, const char *sql, const char *types, ...);

/* Return the first column of the first row, or `without`. */
int64_t mt_sql_number(struct mt_store *store, int64_t without, const char *sql, const char *types,
                      ...);

#endif
