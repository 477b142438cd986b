/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/grow.h"
#include "descendants.h"
#include "tools/memtap/terminal/command.h"
#include "trace-format/block.h"
#include "trace-format/reader.h"
#include "traces.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* Traces that processes are writing. */

/* Return whether a file is the trace itself, not its tail. They have different magic numbers. */
static bool is_trace_file(const char *path)
{
    unsigned char magic[MT_FILE_MAGIC_SIZE];
    struct stat status;
    if (stat(path, &status) || !S_ISREG(status.st_mode))
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool is = fd >= 0 && read(fd, magic, sizeof magic) == (ssize_t)sizeof magic &&
              !memcmp(magic, MT_FILE_MAGIC, sizeof magic);
    if (fd >= 0)
        close(fd);
    return is;
}

static bool has_path(const struct mt_trace_list *list, const char *path)
{
    for (size_t i = 0; i < list->n; i++)
        if (!strcmp(list->path[i], path))
            return true;
    return false;
}

static int add_path(struct mt_trace_list *list, const char *path)
{
    char *copy = strdup(path);
    if (!copy || MT_GROW(list->path, list->capacity, list->n)) {
        free(copy);
        return -1;
    }
    list->path[list->n++] = copy;
    return 0;
}

/* Add the traces among a process's open files. Return 0, or -1 without memory. */
static int add_files(struct mt_trace_list *list, pid_t pid)
{
    char folder[64], link[128], path[PATH_MAX];
    struct dirent *entry;
    int rc = 0;
    snprintf(folder, sizeof folder, "/proc/%ld/fd", (long)pid);
    DIR *files = opendir(folder);
    while (files && !rc && (entry = readdir(files))) {
        snprintf(link, sizeof link, "%s/%.32s", folder, entry->d_name);
        ssize_t n = readlink(link, path, sizeof path - 1);
        if (n <= 0)
            continue;
        path[n] = '\0';
        if (*path == '/' && is_trace_file(path) && !has_path(list, path))
            rc = add_path(list, path);
    }
    if (files)
        closedir(files);
    return rc;
}

/* Add the traces that a process and its descendants have open for writing. Return how many; -1: no
 * memory. */
static int process_traces_add(struct mt_trace_list *list, pid_t pid)
{
    struct mt_descendants all;
    size_t before = list->n;
    int rc = mt_descendants_find(&all, pid);
    if (!rc)
        rc = add_files(list, pid);
    for (size_t i = 0; i < all.n && !rc; i++)
        rc = add_files(list, all.of[i].pid);
    free(all.of);
    return rc ? -1 : (int)(list->n - before);
}

/* Keep only the traces that are still being written. Return how many. */
static int traces_keep_live(struct mt_trace_list *list)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        struct mt_reader *reader;
        struct mt_trace_error error;
        bool is_live = !mt_reader_open(&reader, list->path[i], &error) &&
                       mt_reader_state(reader) == MT_TRACE_RUNNING;
        mt_reader_close(reader);
        if (is_live)
            list->path[n++] = list->path[i];
        else
            free(list->path[i]);
    }
    list->n = n;
    return (int)n;
}

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
        return mt_fail("%s: no such process", text);
    int n = process_traces_add(list, (pid_t)pid);
    snprintf(path, sizeof path, "/proc/%ld/fd", pid);
    if (!n && access(path, R_OK))
        return mt_fail("process %ld belongs to another user; give the path of its trace (*.mtap)",
                       pid);
    if (!n)
        return mt_fail(
            "process %ld is not writing a trace: it was not started with memtap run, has not "
            "used CUDA yet, or is dormant (memtap start %ld)",
            pid, pid);
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
    int n_live = rc ? 0 : traces_keep_live(&all);
    for (size_t i = 0; i < all.n && !rc; i++)
        rc = mt_trace_list_add(list, &all.path[i], 1);
    mt_trace_list_clear(&all);
    if (rc)
        return MT_EXIT_BAD;
    return n_live ? MT_EXIT_OK
                  : mt_fail("%s: none of %zu trace%s is still being written; see memtap report",
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
