/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite databases that may be untrusted: histories, and exports of other tools. */
#ifndef MT_DATABASE_H
#define MT_DATABASE_H

#include <sqlite3.h>

/* Open a database as sqlite3_open_v2 does, without a mutex. Only tables are accessible, and views
 * and WITH tables with one of these names, terminated by NULL; others, and triggers, fail with
 * SQLITE_AUTH. Values are limited to 64 MiB, temporary tables are in memory, and a query's steps
 * count as work (mt_work_is_too_much), beyond which it fails with SQLITE_INTERRUPT. */
int mt_database_open(sqlite3 **database, const char *name, int flags, const char *const *inner);

#endif
