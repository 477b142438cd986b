/* SPDX-License-Identifier: Apache-2.0 */
#include "processes.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/progress.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS 10000000
#define KILL_S 10 /* what cannot be killed in that time waits for a disk */

struct processes {
    struct process {
        pid_t pid, parent;
    } *of;
    size_t n, capacity;
};

/* Read the parent of a process, which is behind the name in parentheses. False: it has ended. */
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

static int read_all(struct processes *all)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    int rc = 0;
    while (proc && !rc && (entry = readdir(proc))) {
        struct process process = {.pid = (pid_t)atoi(entry->d_name)};
        if (!isdigit((unsigned char)*entry->d_name) || !read_parent(entry->d_name, &process.parent))
            continue;
        rc = mt_grow(&all->of, &all->capacity, all->n + 1, sizeof process);
        if (!rc)
            all->of[all->n++] = process;
    }
    if (proc)
        closedir(proc);
    return rc;
}

static bool is_ours(const struct processes *all, size_t n, pid_t pid)
{
    for (size_t i = 0; i < n; i++)
        if (all->of[i].pid == pid)
            return true;
    return pid == getpid();
}

/* Find the descendants of this process. Those found so far stand first; a pass that finds none more
 * is the last one. */
static int find(struct processes *all)
{
    *all = (struct processes){0};
    int rc = read_all(all);
    size_t found = 0, before;
    do {
        before = found;
        for (size_t i = found; i < all->n; i++) {
            struct process process = all->of[i];
            if (!is_ours(all, found, process.parent))
                continue;
            all->of[i] = all->of[found];
            all->of[found++] = process;
        }
    } while (found > before);
    all->n = found;
    return rc;
}

/* Return what is resident, but for what files have as well. */
static uint64_t memory_of(pid_t pid)
{
    char path[64];
    unsigned long long size, resident, shared;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "re");
    int n = file ? fscanf(file, "%llu %llu %llu", &size, &resident, &shared) : 0;
    if (file)
        fclose(file);
    return n == 3 && resident > shared ? (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

uint64_t mt_processes_memory(void)
{
    struct processes all;
    uint64_t sum = 0;
    int rc = find(&all);
    for (size_t i = 0; i < all.n && !rc; i++)
        sum += memory_of(all.of[i].pid);
    free(all.of);
    return sum;
}

static bool is_spared(pid_t pid, const pid_t *spared, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (spared[i] == pid)
            return true;
    return false;
}

/* Return how many are left. */
static size_t kill_some(const pid_t *spared, size_t n_spared)
{
    struct processes all;
    int rc = find(&all);
    for (size_t i = 0; i < all.n && !rc; i++)
        if (!is_spared(all.of[i].pid, spared, n_spared))
            kill(all.of[i].pid, SIGKILL);
    free(all.of);
    return rc ? 1 : all.n;
}

void mt_processes_end(const pid_t *spared, size_t n_spared, double grace_s)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    uint64_t begin_ns = mt_now_ns();
    double waited_s = 0;
    while (waited_s < grace_s + KILL_S && kill_some(spared, waited_s < grace_s ? n_spared : 0)) {
        nanosleep(&pause, NULL);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
        waited_s = (double)(mt_now_ns() - begin_ns) / 1e9;
    }
}
