/* SPDX-License-Identifier: Apache-2.0 */
#include "descendants.h"
#include "analyzer/support/grow.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Read a process's parent, which follows the name in parentheses. Return false if the process has
 * ended. */
static bool read_parent(const char *pid, pid_t *parent)
{
    char path[64], text[512], state;
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *file = fopen(path, "re");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[n] = '\0';
    const char *end = strrchr(text, ')');
    return end && sscanf(end + 1, " %c %d", &state, parent) == 2 && state != 'Z';
}

static int read_all(struct mt_descendants *all)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    int rc = 0;
    while (proc && !rc && (entry = readdir(proc))) {
        struct mt_descendant process = {.pid = (pid_t)strtol(entry->d_name, NULL, 10)};
        if (!isdigit((unsigned char)*entry->d_name) || !read_parent(entry->d_name, &process.parent))
            continue;
        rc = MT_GROW(all->of, all->capacity, all->n);
        if (!rc)
            all->of[all->n++] = process;
    }
    if (proc)
        closedir(proc);
    return rc;
}

static bool is_found(const struct mt_descendants *all, size_t n, pid_t pid)
{
    for (size_t i = 0; i < n; i++)
        if (all->of[i].pid == pid)
            return true;
    return false;
}

int mt_descendants_find(struct mt_descendants *all, pid_t ancestor)
{
    *all = (struct mt_descendants){0};
    int rc = read_all(all);
    size_t found = 0, before; /* those found so far come first */
    do {
        before = found;
        for (size_t i = found; i < all->n; i++) {
            struct mt_descendant process = all->of[i];
            if (process.parent != ancestor && !is_found(all, found, process.parent))
                continue;
            all->of[i] = all->of[found];
            all->of[found++] = process;
        }
    } while (found > before);
    all->n = found;
    return rc;
}
