/* SPDX-License-Identifier: Apache-2.0 */
#include "descendants.h"
#include "analyzer/support/grow.h"

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

/* The parent of a process and its state, which are behind the name in parentheses. */
static int read_parent(const char *pid, pid_t *parent, char *state)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *file = fopen(path, "re");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[n] = '\0';
    const char *end = strrchr(text, ')');
    return end && sscanf(end + 1, " %c %d", state, parent) == 2 ? 0 : -1;
}

static int read_all(struct mt_descendants *all)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    int rc = 0;
    while (proc && !rc && (entry = readdir(proc))) {
        pid_t parent;
        char state;
        if (!isdigit((unsigned char)*entry->d_name) ||
            read_parent(entry->d_name, &parent, &state) || state == 'Z')
            continue;
        rc = mt_grow(&all->process, &all->capacity, all->n + 1, sizeof *all->process);
        if (!rc)
            all->process[all->n++] =
                (struct mt_descendant){.pid = (pid_t)atoi(entry->d_name), .parent = parent};
    }
    if (proc)
        closedir(proc);
    return rc;
}

static bool is_among(const struct mt_descendants *some, size_t n, pid_t pid)
{
    for (size_t i = 0; i < n; i++)
        if (some->process[i].pid == pid)
            return 1;
    return 0;
}

/* Those found so far stand first; a pass that finds none more is the last one. */
int mt_descendants_find(struct mt_descendants *descendants)
{
    size_t found = 0, before;
    *descendants = (struct mt_descendants){0};
    int rc = read_all(descendants);
    if (rc)
        return rc;
    do {
        before = found;
        for (size_t i = found; i < descendants->n; i++) {
            struct mt_descendant process = descendants->process[i];
            if (process.parent != getpid() && !is_among(descendants, found, process.parent))
                continue;
            descendants->process[i] = descendants->process[found];
            descendants->process[found++] = process;
        }
    } while (found > before);
    descendants->n = found;
    return 0;
}

void mt_descendants_clear(struct mt_descendants *descendants)
{
    free(descendants->process);
    *descendants = (struct mt_descendants){0};
}

/* Resident, but for what files have as well. */
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

uint64_t mt_descendants_memory(const struct mt_descendants *descendants)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < descendants->n; i++)
        sum += memory_of(descendants->process[i].pid);
    return sum;
}

static bool is_spared(pid_t pid, const pid_t *spared, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (spared[i] == pid)
            return 1;
    return 0;
}

/* How many are left. */
static size_t kill_some(const pid_t *spared, size_t n_spared)
{
    struct mt_descendants all;
    int rc = mt_descendants_find(&all);
    for (size_t i = 0; i < all.n && !rc; i++)
        if (!is_spared(all.process[i].pid, spared, n_spared))
            kill(all.process[i].pid, SIGKILL);
    size_t n = rc ? 1 : all.n;
    mt_descendants_clear(&all);
    return n;
}

static double clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void mt_descendants_end(const pid_t *spared, size_t n_spared, double grace_s)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    double begin_s = clock_s(), waited_s = 0;
    while (waited_s < grace_s + KILL_S && kill_some(spared, waited_s < grace_s ? n_spared : 0)) {
        nanosleep(&pause, NULL);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
        waited_s = clock_s() - begin_s;
    }
}
