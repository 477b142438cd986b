/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/new-file.h"
#include "exchange/import/import.h"
#include "tools/memtap/terminal/command.h"
#include "traces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Import a file into one without a name, which lives as long as the process. Return its path,
 * malloc'ed, or NULL after a message. */
static char *import(const char *path)
{
    struct mt_import_summary summary;
    struct mt_import_error error = {""};
    const char *folder = getenv("TMPDIR");
    char *made = NULL;
    folder = folder && *folder ? folder : "/tmp";
    FILE *out = mt_unnamed_file(folder);
    int rc = out ? mt_import(path, out, folder, &summary, &error) : -errno;
    if (!rc && fflush(out))
        rc = -errno;
    if (!rc && asprintf(&made, "/proc/self/fd/%d", fileno(out)) < 0)
        rc = -ENOMEM;
    if (!rc) {
        mt_say("%s: not a trace; reading it as memtap import would", path);
        return made;
    }
    if (out)
        fclose(out);
    if (*error.text)
        mt_fail("%s: %s", path, error.text);
    else if (rc == -E2BIG)
        mt_fail_work(path);
    else if (rc == -ENOMEM)
        mt_fail_trace(path, &(struct mt_trace_error){0});
    else
        mt_fail("%s: cannot write a temporary file: %s; set TMPDIR to another folder", folder,
                strerror(-rc));
    return NULL;
}

int mt_trace_list_import(struct mt_trace_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        if (!mt_may_import(list->path[i]))
            continue;
        if (!list->imported)
            list->imported = calloc(list->n, sizeof *list->imported);
        char *made = list->imported ? import(list->path[i]) : NULL;
        if (!list->imported)
            mt_fail_memory();
        if (!made)
            return -1;
        list->imported[i] = list->path[i];
        list->path[i] = made;
    }
    return 0;
}
