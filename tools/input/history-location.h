/* SPDX-License-Identifier: Apache-2.0 */
/* The history's file, as the verbs of memtap history name it, and how to open it. */
#ifndef MT_HISTORY_LOCATION_H
#define MT_HISTORY_LOCATION_H

#include "nightly/history/store.h"
#include "tools/terminal/command.h"

#include <limits.h>

enum { MT_OPTION_DB = 512, MT_OPTION_WAIT };
/* clang-format off */
#define MT_DB_OPTIONS                                                                              \
    {MT_OPTION_DB, "db", "FILE", "the history's file (MEMTAP_HISTORY, else history.db in\n"        \
                                 "$XDG_DATA_HOME/memtap or ~/.local/share/memtap)"},               \
    {MT_OPTION_WAIT, "wait", "SECONDS", "wait so long for other writers (default: 30)"}
/* clang-format on */

struct mt_history_location {
    const char *db; /* --db */
    unsigned wait_ms;
    char path[PATH_MAX];
};
#define MT_HISTORY_PLACE {.wait_ms = 30000}

/* Handle an option of MT_DB_OPTIONS; find the file. 0, or -1 after a message. */
int mt_history_location_option(const struct mt_command *command, int letter, const char *value,
                               struct mt_history_location *place);
int mt_history_location_find(const struct mt_command *command, struct mt_history_location *place);

/* Like mt_store_open; make the folder of the default file if it is opened for writing. */
int mt_history_location_open(const struct mt_history_location *place, struct mt_store *store,
                             enum mt_store_use use);

#endif
