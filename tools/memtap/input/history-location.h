/* SPDX-License-Identifier: Apache-2.0 */
/* The history file of memtap history's verbs, and how to open it. */
#ifndef MT_HISTORY_LOCATION_H
#define MT_HISTORY_LOCATION_H

#include "compare/history/store.h"
#include "tools/memtap/terminal/values.h"

#include <limits.h>

/* clang-format off */
#define MT_DB_OPTIONS(type, member)                                                                \
    {0, "db", "FILE", "the history file (MEMTAP_HISTORY, else history.db in\n"        \
                                 "$XDG_DATA_HOME/memtap or ~/.local/share/memtap)", NULL, mt_note_text, \
     offsetof(struct type, member.db)},               \
    {0, "wait", "SECONDS", "wait up to this long for other writers (default: 30)", NULL, mt_note_small_number, \
     offsetof(struct type, member.wait_s), 0, 86400}
/* clang-format on */

struct mt_history_location {
    const char *db; /* --db */
    uint32_t wait_s;
    char path[PATH_MAX];
};
#define MT_HISTORY_PLACE {.wait_s = 30}

/* Find the file. Return 0, or -1 after a message. */
int mt_history_location_find(const struct mt_command *command, struct mt_history_location *place);

/* Open it as mt_store_open does. For writing, create the default file's folder. */
int mt_history_location_open(const struct mt_history_location *place, struct mt_store *store,
                             enum mt_store_use use);

/* Remove a copied trace from a folder (may be NULL) or from the history file's folder. Return as
 * mt_history_remove_trace does. */
int mt_history_remove_copy(const struct mt_history_location *place, const char *path,
                           const char *folder);

#endif
