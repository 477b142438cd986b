/* SPDX-License-Identifier: Apache-2.0 */
#include "history-location.h"
#include "compare/history/trace-copy.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

int mt_history_location_find(const struct mt_command *command, struct mt_history_location *place)
{
    const char *named = place->db ? place->db : variable("MEMTAP_HISTORY");
    const char *data = variable("XDG_DATA_HOME"), *home = variable("HOME");
    int n = -1;
    if (named)
        n = snprintf(place->path, sizeof place->path, "%s", named);
    else if (data)
        n = snprintf(place->path, sizeof place->path, "%s/memtap/history.db", data);
    else if (home)
        n = snprintf(place->path, sizeof place->path, "%s/.local/share/memtap/history.db", home);
    else
        mt_fail_usage(command, "HOME is not set; name the history with --db FILE");
    if (n >= (int)sizeof place->path)
        mt_fail_usage(command, "the history's path is too long");
    place->db = named;
    return n > 0 && n < (int)sizeof place->path ? 0 : -1;
}

static void make_folders(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0755);
        *slash = '/';
    }
}

/* Open the history. Exceeding the file size limit must be an ordinary error. */
int mt_history_location_open(const struct mt_history_location *place, struct mt_store *store,
                             enum mt_store_use use)
{
    signal(SIGXFSZ, SIG_IGN);
    if (!place->db && use == MT_STORE_WRITE)
        make_folders(place->path);
    return mt_store_open(store, place->path, use, place->wait_s * 1000);
}

int mt_history_remove_copy(const struct mt_history_location *place, const char *path,
                           const char *folder)
{
    char own[PATH_MAX];
    int rc = folder ? mt_history_remove_trace(path, folder) : -EXDEV;
    if (rc != -EXDEV)
        return rc;
    snprintf(own, sizeof own, "%s", place->path);
    char *slash = strrchr(own, '/');
    if (slash)
        slash[slash == own] = '\0';
    return mt_history_remove_trace(path, slash ? own : ".");
}
