/* SPDX-License-Identifier: Apache-2.0 */
#include "traces.h"
#include "analyzer/support/grow.h"
#include "tools/terminal/command.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int add(struct mt_trace_list *list, char *path)
{
    if (path && !mt_grow(&list->path, &list->capacity, list->n + 1, sizeof *list->path)) {
        list->path[list->n++] = path;
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

static int add_folder(struct mt_trace_list *list, const char *folder)
{
    const char *slash = *folder && folder[strlen(folder) - 1] == '/' ? "" : "/";
    struct dirent **entries;
    int n = scandir(folder, &entries, is_trace, alphasort), rc = 0;
    if (n <= 0) {
        if (!n)
            free(entries);
        mt_fail("%s: there is no trace (*.mtap) in this folder", folder);
        return -1;
    }
    for (int i = 0; i < n; i++) {
        char *path = NULL;
        if (!rc)
            rc = asprintf(&path, "%s%s%s", folder, slash, entries[i]->d_name) < 0 ? add(list, NULL)
                                                                                  : add(list, path);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

int mt_trace_list_add(struct mt_trace_list *list, char *const *operands, int n)
{
    int rc = 0;
    for (int i = 0; i < n && !rc; i++) {
        struct stat status;
        rc = !stat(operands[i], &status) && S_ISDIR(status.st_mode)
                 ? add_folder(list, operands[i])
                 : add(list, strdup(operands[i]));
    }
    return rc;
}

void mt_trace_list_clear(struct mt_trace_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->path[i]);
    free(list->path);
    *list = (struct mt_trace_list){0};
}
