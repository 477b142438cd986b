/* SPDX-License-Identifier: Apache-2.0 */
#include "live-traces.h"
#include "process-traces.h"
#include "tools/terminal/command.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text) && access(text, F_OK);
}

static int find_of_process(struct mt_trace_list *list, const char *text)
{
    char path[64];
    long pid = strtol(text, NULL, 10);
    snprintf(path, sizeof path, "/proc/%ld", pid);
    if (pid <= 0 || pid > INT_MAX || access(path, F_OK))
        return mt_fail("%s: there is no such process", text);
    int n = mt_process_traces_add(list, (pid_t)pid);
    snprintf(path, sizeof path, "/proc/%ld/fd", pid);
    if (!n && access(path, R_OK))
        return mt_fail("process %ld belongs to somebody else; give the path of its trace (*.mtap)",
                       pid);
    if (!n)
        return mt_fail(
            "process %ld writes no trace: it was not started with memtap run, or has not used "
            "CUDA yet",
            pid);
    return n < 0 ? mt_fail("out of memory") : MT_EXIT_OK;
}

/* Find the folder's traces that are still being written. */
static int find_in_folder(struct mt_trace_list *list, const char *folder)
{
    struct mt_trace_list all = {0};
    char *operand = strdup(folder);
    int rc = operand ? mt_trace_list_add(&all, &operand, 1) : mt_fail("out of memory");
    free(operand);
    size_t n = all.n;
    int n_live = rc ? 0 : mt_traces_keep_live(&all);
    for (size_t i = 0; i < all.n && !rc; i++)
        rc = mt_trace_list_add(list, &all.path[i], 1);
    mt_trace_list_clear(&all);
    if (rc)
        return MT_EXIT_BAD;
    return n_live
               ? MT_EXIT_OK
               : mt_fail(
                     "%s: none of %zu trace%s is still written; memtap report explains the newest",
                     folder, n, n == 1 ? "" : "s");
}

int mt_find_live_traces(struct mt_trace_list *list, char **operands, int n)
{
    int code = n ? MT_EXIT_OK : find_in_folder(list, ".");
    for (int i = 0; i < n && !code; i++) {
        if (is_number(operands[i]))
            code = find_of_process(list, operands[i]);
        else if (mt_is_folder(operands[i]))
            code = find_in_folder(list, operands[i]);
        else
            code = mt_trace_list_add(list, &operands[i], 1) ? MT_EXIT_BAD : MT_EXIT_OK;
    }
    return code;
}
