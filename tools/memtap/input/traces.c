/* SPDX-License-Identifier: Apache-2.0 */
#include "traces.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/guard.h"
#include "analyzer/support/search.h"
#include "tools/memtap/terminal/command.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int add(struct mt_trace_list *list, char *path)
{
    if (path && !MT_GROW(list->path, list->capacity, list->n)) {
        list->path[list->n++] = path;
        mt_input_note(path);
        return 0;
    }
    free(path);
    mt_fail("out of memory");
    return -1;
}

static int is_trace(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot && dot != entry->d_name && !strcmp(dot, ".mtap");
}

static void clear(struct dirent **entries, int n)
{
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
}

bool mt_folder_has_traces(const char *path)
{
    struct dirent **entries;
    int n = scandir(path, &entries, is_trace, NULL);
    if (n >= 0)
        clear(entries, n);
    return n > 0;
}

/* List a folder's traces by name. Return how many; -1 after a message if there is none. */
static int list_folder(const char *folder, struct dirent ***entries)
{
    int n = scandir(folder, entries, is_trace, alphasort);
    if (n > 0)
        return n;
    if (!n)
        free(*entries);
    if (strcmp(folder, "."))
        mt_fail("%s: no trace (*.mtap) in this folder", folder);
    else
        mt_fail("no trace given, and none (*.mtap) in this folder");
    return -1;
}

/* Return the path, malloc'ed, or NULL without memory. In the current folder it is the name
 * alone. */
static char *path_of(const char *folder, const struct dirent *entry)
{
    char *path = NULL;
    const char *slash = *folder && folder[strlen(folder) - 1] == '/' ? "" : "/";
    if (!strcmp(folder, "."))
        return strdup(entry->d_name);
    return asprintf(&path, "%s%s%s", folder, slash, entry->d_name) < 0 ? NULL : path;
}

static int add_folder(struct mt_trace_list *list, const char *folder)
{
    struct dirent **entries;
    int n = list_folder(folder, &entries), rc = n < 0 ? -1 : 0;
    for (int i = 0; i < n && !rc; i++)
        rc = add(list, path_of(folder, entries[i]));
    if (n > 0)
        clear(entries, n);
    return rc;
}

struct candidate {
    char *path;
    struct timespec written;
};

MT_ORDER(newest_first, struct candidate,
         MT_FALLING(written.tv_sec) ?: MT_FALLING(written.tv_nsec) ?: MT_BY_TEXT(path))

/* Move a folder's traces into candidates, the newest first. Return how many have a path. */
static int sort_folder(const char *folder, struct dirent **entries, int n, struct candidate *out)
{
    int found = 0;
    for (int i = 0; i < n; i++) {
        struct stat status = {0};
        char *path = path_of(folder, entries[i]);
        if (path && stat(path, &status))
            status.st_mtim = (struct timespec){0};
        if (path)
            out[found++] = (struct candidate){path, status.st_mtim};
    }
    qsort(out, (size_t)found, sizeof *out, newest_first);
    return found;
}

static void say_choice(const struct candidate *all, int chosen, int n, const char *what)
{
    if (chosen)
        mt_say("reading %s, the newest %s, of %d traces", all[chosen].path, what, n);
    else if (n > 1)
        mt_say("reading %s, the newest of %d traces", all->path, n);
    else if (n)
        mt_say("reading %s", all->path);
}

int mt_trace_list_add_newest(struct mt_trace_list *list, const char *folder,
                             const struct mt_trace_wish *wish)
{
    struct dirent **entries;
    int n = list_folder(folder, &entries), chosen = 0, rc;
    if (n < 0)
        return -1;
    struct candidate *all = calloc((size_t)n, sizeof *all);
    int found = all ? sort_folder(folder, entries, n, all) : 0;
    clear(entries, n);
    while (wish && chosen < found && !wish->is_so(all[chosen].path))
        chosen++;
    if (chosen == found)
        chosen = 0;
    say_choice(all, chosen, found, wish ? wish->what : "");
    rc = add(list, found ? all[chosen].path : NULL);
    for (int i = 0; i < found; i++)
        if (i != chosen)
            free(all[i].path);
    free(all);
    return rc;
}

bool mt_is_folder(const char *path)
{
    struct stat status;
    return !stat(path, &status) && S_ISDIR(status.st_mode);
}

int mt_trace_list_add(struct mt_trace_list *list, char *const *operands, int n)
{
    int rc = 0;
    for (int i = 0; i < n && !rc; i++)
        rc = mt_is_folder(operands[i]) ? add_folder(list, operands[i])
                                       : add(list, strdup(operands[i]));
    return rc;
}

void mt_trace_list_clear(struct mt_trace_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->path[i]);
    for (size_t i = 0; list->imported && i < list->n; i++)
        free(list->imported[i]);
    free(list->path);
    free(list->imported);
    *list = (struct mt_trace_list){0};
}

int mt_trace_list_add_operands(struct mt_trace_list *list, char *const *operands, int n)
{
    return n ? mt_trace_list_add(list, operands, n) : mt_trace_list_add_newest(list, ".", NULL);
}
