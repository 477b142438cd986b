/* SPDX-License-Identifier: Apache-2.0 */
#include "ends.h"
#include "analyzer/support/grow.h"
#include "child.h"
#include "tools/memtap/terminal/command.h"
#include "trace-format/author/author.h"

#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#define MOST 512 /* processes at a time: each has a descriptor */

struct process {
    char *trace;
    uint32_t pid;
    int descriptor, status;
    bool has_ended;
};

struct mt_kept_ends {
    const struct mt_manifest *manifest;
    pthread_t thread;
    int changes, stop; /* descriptors */
    struct process process[MOST];
    size_t n;
};

static void load_end(struct process *process)
{
    process->has_ended =
        process->descriptor >= 0 && !mt_author_end(process->descriptor, &process->status);
}

static struct process *find(struct mt_kept_ends *ends, const char *trace)
{
    for (size_t i = ends->n; i > 0; i--)
        if (!strcmp(ends->process[i - 1].trace, trace))
            return &ends->process[i - 1];
    return NULL;
}

/* Follow one line of the manifest. Only a trace's first line is from a process that has just
 * begun. */
static void follow(void *data, const char *trace, uint64_t cpu_ns)
{
    struct mt_kept_ends *ends = data;
    (void)cpu_ns;
    if (ends->n == MOST || find(ends, trace))
        return;
    struct process process = {.trace = strdup(trace)};
    if (!process.trace)
        return;
    process.descriptor = mt_author_follow(trace, &process.pid);
    ends->process[ends->n++] = process;
}

static void *watch(void *data)
{
    struct mt_kept_ends *ends = data;
    struct pollfd waiting[] = {{.fd = ends->changes, .events = POLLIN},
                               {.fd = ends->stop, .events = POLLIN}};
    char bytes[4096];
    while (ends->n < MOST && poll(waiting, 2, -1) >= 0 && !waiting[1].revents)
        if (read(ends->changes, bytes, sizeof bytes) > 0)
            mt_manifest_each(ends->manifest, follow, ends);
    return NULL;
}

/* Start a thread with signals blocked: the main thread forwards them. */
static int start(struct mt_kept_ends *ends)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&ends->thread, NULL, watch, ends);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

struct mt_kept_ends *mt_ends_watch(const struct mt_manifest *manifest)
{
    struct mt_kept_ends *ends = calloc(1, sizeof *ends);
    if (!ends)
        return NULL;
    ends->manifest = manifest;
    ends->changes = inotify_init1(IN_CLOEXEC);
    ends->stop = eventfd(0, EFD_CLOEXEC);
    if (ends->changes >= 0 && ends->stop >= 0 &&
        inotify_add_watch(ends->changes, manifest->path, IN_MODIFY) >= 0 && !start(ends))
        return ends;
    close(ends->changes);
    close(ends->stop);
    free(ends);
    return NULL;
}

void mt_ends_stop(struct mt_kept_ends *ends)
{
    if (!ends)
        return;
    eventfd_write(ends->stop, 1);
    pthread_join(ends->thread, NULL);
    for (size_t i = 0; i < ends->n; i++)
        load_end(&ends->process[i]);
}

int mt_ends_of(struct mt_kept_ends *ends, const char *trace, pid_t *pid, char how[32])
{
    const struct process *process = ends ? find(ends, trace) : NULL;
    if (!process || !process->has_ended)
        return -1;
    *pid = (pid_t)process->pid;
    mt_child_words(process->status, how);
    return 0;
}

void mt_ends_destroy(struct mt_kept_ends *ends)
{
    if (!ends)
        return;
    for (size_t i = 0; i < ends->n; i++) {
        if (ends->process[i].descriptor >= 0)
            close(ends->process[i].descriptor);
        free(ends->process[i].trace);
    }
    close(ends->changes);
    close(ends->stop);
    free(ends);
}

#define MOST_NAMED 3 /* more are named by a pattern that matches only them, if any */

const char *mt_short_path(const char *path)
{
    char folder[PATH_MAX];
    if (!getcwd(folder, sizeof folder))
        return path;
    size_t n = strlen(folder);
    return !strncmp(path, folder, n) && path[n] == '/' ? path + n + 1 : path;
}

void mt_every_trace_add(struct mt_every_trace *every, const char *name)
{
    char *copy = strdup(name);
    if (copy && !MT_GROW(every->name, every->capacity, every->n))
        every->name[every->n++] = copy;
    else
        free(copy);
}

static bool is_plain(const char *name)
{
    return !strpbrk(name, " \t\n'\"$&;()*?[]{}<>|\\`!#~");
}

/* Return the length of the names' common prefix or suffix. */
static size_t in_common(const struct mt_every_trace *every, bool at_end, size_t most)
{
    const char *first = every->name[0];
    size_t n = strlen(first), common = n < most ? n : most;
    for (size_t i = 1; i < every->n; i++) {
        const char *other = every->name[i];
        size_t n_other = strlen(other), same = 0;
        while (same < common && same < n_other &&
               (at_end ? first[n - same - 1] == other[n_other - same - 1]
                       : first[same] == other[same]))
            same++;
        common = same;
    }
    return common;
}

/* Write a shell pattern that matches exactly these traces. Return 0, or -1 if there is none. */
static int find_pattern(const struct mt_every_trace *every, char out[PATH_MAX])
{
    const char *first = every->name[0];
    size_t n = strlen(first), shortest = n;
    for (size_t i = 1; i < every->n; i++)
        shortest = strlen(every->name[i]) < shortest ? strlen(every->name[i]) : shortest;
    size_t begin = in_common(every, 0, shortest), end = in_common(every, 1, shortest - begin);
    glob_t found = {0};
    snprintf(out, PATH_MAX, "%.*s*%s", (int)begin, first, first + n - end);
    int rc = glob(out, GLOB_NOSORT, NULL, &found) || found.gl_pathc != every->n ? -1 : 0;
    globfree(&found);
    return rc;
}

static void print_result(const struct mt_every_trace *every)
{
    char line[4000] = "";
    size_t used = 0;
    for (size_t i = 0; i < every->n; i++) {
        const char *name = every->name[i], *quote = is_plain(name) ? "" : "'";
        if (used + strlen(name) + 4 >= sizeof line)
            return; /* too long to copy */
        used += (size_t)snprintf(line + used, sizeof line - used, " %s%s%s", quote, name, quote);
    }
    mt_say("all traces: memtap report%s", line);
}

void mt_every_trace_print(struct mt_every_trace *every)
{
    char pattern[PATH_MAX];
    int plain = 1;
    for (size_t i = 0; i < every->n; i++)
        plain &= is_plain(every->name[i]);
    if (every->n > MOST_NAMED && plain && !find_pattern(every, pattern))
        mt_say("all traces: memtap report %s", pattern);
    else if (every->n > 1)
        print_result(every);
    for (size_t i = 0; i < every->n; i++)
        free(every->name[i]);
    free(every->name);
    *every = (struct mt_every_trace){0};
}
