/* SPDX-License-Identifier: Apache-2.0 */
#include "process-traces.h"
#include "analyzer/support/grow.h"
#include "trace-format/block.h"
#include "trace-format/reader.h"
#include "trace-format/tail.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct pids {
    pid_t *pid;
    size_t n, capacity;
};

static int add_pid(struct pids *pids, pid_t pid)
{
    if (mt_grow(&pids->pid, &pids->capacity, pids->n + 1, sizeof *pids->pid))
        return -1;
    pids->pid[pids->n++] = pid;
    return 0;
}

static bool has_pid(const struct pids *pids, pid_t pid)
{
    for (size_t i = 0; i < pids->n; i++)
        if (pids->pid[i] == pid)
            return true;
    return false;
}

/* 0: unknown. */
static pid_t parent_of(const char *pid)
{
    char path[64], text[512], state;
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    const char *end = strrchr(text, ')'); /* the end of the name, which may contain anything */
    return end && sscanf(end + 1, " %c %d", &state, &parent) == 2 ? parent : 0;
}

/* Add one more generation. Return its size; -1: no memory. Processes may begin and end
 * meanwhile. */
static int add_children(struct pids *pids)
{
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    size_t before = pids->n;
    int rc = 0;
    while (processes && !rc && (entry = readdir(processes))) {
        if (!isdigit((unsigned char)*entry->d_name))
            continue;
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10), parent = parent_of(entry->d_name);
        if (parent && has_pid(pids, parent) && !has_pid(pids, pid))
            rc = add_pid(pids, pid);
    }
    if (processes)
        closedir(processes);
    return rc ? -1 : (int)(pids->n - before);
}

/* Return whether a file is the trace itself, not its tail. Both begin alike, with different
 * marks. */
static bool is_trace_file(const char *path)
{
    unsigned char magic[MT_FILE_MAGIC_SIZE];
    struct stat status;
    if (stat(path, &status) || !S_ISREG(status.st_mode))
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int is = fd >= 0 && read(fd, magic, sizeof magic) == (ssize_t)sizeof magic &&
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
    if (!copy || mt_grow(&list->path, &list->capacity, list->n + 1, sizeof *list->path)) {
        free(copy);
        return -1;
    }
    list->path[list->n++] = copy;
    return 0;
}

/* Add the traces among a process's open files. Return 0; -1: no memory. */
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

int mt_process_traces_add(struct mt_trace_list *list, pid_t pid)
{
    struct pids pids = {0};
    size_t before = list->n;
    int n = 1, rc = add_pid(&pids, pid);
    while (!rc && n > 0)
        n = add_children(&pids);
    rc = rc || n < 0;
    for (size_t i = 0; i < pids.n && !rc; i++)
        rc = add_files(list, pids.pid[i]);
    free(pids.pid);
    return rc ? -1 : (int)(list->n - before);
}

int mt_traces_keep_live(struct mt_trace_list *list)
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
