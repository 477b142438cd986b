/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite databases that may come from a stranger: histories, and what other tools export. */
#ifndef MT_DATABASE_H
#define MT_DATABASE_H

#include <sqlite3.h>

/* Open a database as sqlite3_open_v2 does, without a mutex. Only tables are read, and views and
 * queries' own tables (WITH) of these names, which NULL ends: another one, or a trigger, is
 * SQLITE_AUTH. A value has 64 MiB at most,
 * temporary tables are in memory, and a query's steps count as work (mt_work_is_too_much): beyond,
 * it is SQLITE_INTERRUPT. */
int mt_database_open(sqlite3 **database, const char *name, int flags, const char *const *inner);

#endif
