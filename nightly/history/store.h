/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history's file: an SQLite database that is known to be ours, of this version, and may be used
 * by several processes at a time. A store belongs to one thread.
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
    int failed;       /* 0, or SQLite's code of what went wrong first: nothing is done after it */
    char error[512];  /* in words for the user: what and what to do, one line without a newline */
};

enum mt_store_use { MT_STORE_READ, MT_STORE_WRITE };

/* Steps from a version of the schema to the next: step i makes version i + 1. */
extern const char *const mt_schema_steps[];
extern const int mt_schema_version;

/*
 * Opens a file; one that is to be written is made where there is none. One of an older version is
 * brought up to date, by all steps or none of them. wait_ms: how long to wait for other writers.
 * 0, or -1 and store->error. To be closed in any case.
 */
int mt_store_open(struct mt_store *store, const char *path, enum mt_store_use use,
                  unsigned wait_ms);
void mt_store_close(struct mt_store *store);

/* Brings the schema up to date; for mt_store_open, and for tests with steps of their own. */
int mt_store_migrate(struct mt_store *store, const char *const *steps, int n);

/* Between these two, others see nothing of what is done, and all of it after the second; what was
 * begun is undone where anything fails. 0 or -1. */
int mt_store_begin(struct mt_store *store);
int mt_store_end(struct mt_store *store);

/* Something outside of SQLite had no memory. */
void mt_store_no_memory(struct mt_store *store);

/*
 * A statement with its values: types has a letter for each of them, 'i' an int64_t, 't' a text
 * (NULL: none). NULL where something failed. Its rows come by mt_sql_next: 1, or 0 when there are
 * no more, or something failed; then it is gone. mt_sql_text is never NULL.
 */
sqlite3_stmt *mt_sql(struct mt_store *store, const char *sql, const char *types, ...);
int mt_sql_next(struct mt_store *store, sqlite3_stmt *statement);
const char *mt_sql_text(sqlite3_stmt *statement, int column);

/* For statements without rows: 0 or -1. */
int mt_sql_run(struct mt_store *store, const char *sql, const char *types, ...);

/* The first column of the first row, or `without`. */
int64_t mt_sql_number(struct mt_store *store, int64_t without, const char *sql, const char *types,
                      ...);

#endif
