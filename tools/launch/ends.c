/* SPDX-License-Identifier: Apache-2.0 */
#include "ends.h"
#include "child.h"
#include "trace-format/author/author-end.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
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

struct mt_ends {
    const struct mt_roster *roster;
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

static struct process *find(struct mt_ends *ends, const char *trace)
{
    for (size_t i = ends->n; i > 0; i--)
        if (!strcmp(ends->process[i - 1].trace, trace))
            return &ends->process[i - 1];
    return NULL;
}

/* Follow one line of the roster. Only a trace's first line is from a process that has just
 * begun. */
static void follow(void *data, const char *trace, uint64_t cpu_ns)
{
    struct mt_ends *ends = data;
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
    struct mt_ends *ends = data;
    struct pollfd waiting[] = {{.fd = ends->changes, .events = POLLIN},
                               {.fd = ends->stop, .events = POLLIN}};
    char bytes[4096];
    while (ends->n < MOST && poll(waiting, 2, -1) >= 0 && !waiting[1].revents)
        if (read(ends->changes, bytes, sizeof bytes) > 0)
            mt_roster_each(ends->roster, follow, ends);
    return NULL;
}

/* Signals are for the first thread, which passes them on. */
static int start(struct mt_ends *ends)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&ends->thread, NULL, watch, ends);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

struct mt_ends *mt_ends_watch(const struct mt_roster *roster)
{
    struct mt_ends *ends = calloc(1, sizeof *ends);
    if (!ends)
        return NULL;
    ends->roster = roster;
    ends->changes = inotify_init1(IN_CLOEXEC);
    ends->stop = eventfd(0, EFD_CLOEXEC);
    if (ends->changes >= 0 && ends->stop >= 0 &&
        inotify_add_watch(ends->changes, roster->path, IN_MODIFY) >= 0 && !start(ends))
        return ends;
    close(ends->changes);
    close(ends->stop);
    free(ends);
    return NULL;
}

void mt_ends_stop(struct mt_ends *ends)
{
    if (!ends)
        return;
    eventfd_write(ends->stop, 1);
    pthread_join(ends->thread, NULL);
    for (size_t i = 0; i < ends->n; i++)
        load_end(&ends->process[i]);
}

int mt_ends_of(struct mt_ends *ends, const char *trace, pid_t *pid, char how[32])
{
    const struct process *process = ends ? find(ends, trace) : NULL;
    if (!process || !process->has_ended)
        return -1;
    *pid = (pid_t)process->pid;
    mt_child_words(process->status, how);
    return 0;
}

void mt_ends_destroy(struct mt_ends *ends)
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
