/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history file: an SQLite database whose application id and version are checked. Several
 * processes may use it concurrently. A store belongs to one thread.
 */
#ifndef MT_STORE_H
#define MT_STORE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* "mtap", in the file's header, so that no other program's database is mistaken for one. */
#define MT_STORE_APPLICATION 0x6d746170

struct mt_store {
    sqlite3 *db;
    const char *path; /* owned by the caller */
    int failed;       /* 0, or SQLite's first error code, after which nothing is done */
    char error[512];  /* the message for the user, one line without a newline */
};

enum mt_store_use { MT_STORE_READ, MT_STORE_WRITE };

/* Migrations of the schema: step i upgrades to version i + 1. */
extern const char *const mt_schema_steps[];
extern const int mt_schema_version;

/*
 * Open a file. For writing, create it if it is missing, and upgrade an older version atomically.
 * wait_ms: how long to wait for other writers. Return 0, or -1 with store->error. Call
 * mt_store_close in any case.
 */
int mt_store_open(struct mt_store *store, const char *path, enum mt_store_use use,
                  unsigned wait_ms);
void mt_store_close(struct mt_store *store);

/* Upgrade the schema; for mt_store_open, and for tests with their own steps. */
int mt_store_migrate(struct mt_store *store, const char *const *steps, int n);

/* Begin or end a transaction. Others see its changes only after mt_store_end; if anything fails,
 * nothing is changed. Return 0 or -1. */
int mt_store_begin(struct mt_store *store);
int mt_store_end(struct mt_store *store);

/* Record that memory ran out outside SQLite. */
void mt_store_no_memory(struct mt_store *store);

/*
 * Prepare a statement. types has a letter for each value: 'i' an int64_t, 't' a text (NULL: none).
 * Return NULL on failure. mt_sql_next returns 1 for each row; at the end or on failure it returns 0
 * and destroys the statement. mt_sql_text never returns NULL.
 */
sqlite3_stmt *mt_sql(struct mt_store *store, const char *sql, const char *types, ...);
bool mt_sql_next(struct mt_store *store, sqlite3_stmt *statement);
const char *mt_sql_text(sqlite3_stmt *statement, int column);

/* Run statements without rows. Return 0 or -1. */
int mt_sql_run(struct mt_store *store, const char *sql, const char *types, ...);

/* Return the first column of the first row, or `without`. */
int64_t mt_sql_number(struct mt_store *store, int64_t without, const char *sql, const char *types,
                      ...);

#endif
