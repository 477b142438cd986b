/* SPDX-License-Identifier: Apache-2.0 */
/* memtap start: switch on the recording of processes that are loaded with memtap and do not record.
 */
#include "analyzer/support/grow.h"
#include "analyzer/support/progress.h"
#include "command.h"
#include "tools/memtap/input/descendants.h"
#include "tools/memtap/input/traces.h"
#include "tools/memtap/terminal/values.h"
#include "trace-format/settings/switch.h"
#include "trace-format/tail-request.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MOST_WAIT_NS 5000000000u
#define LOOK_NS 20000000u

struct starting {
    uint64_t seconds, iterations;
    struct dormant {
        long pid;
        struct mt_switch *page;
        uint32_t number; /* of the request; 0: none was made */
    } *of;
    size_t n, capacity;
};

/* clang-format off */
const struct mt_option mt_start_options[] = {
    {0, "seconds", "N", "stop after N seconds (default: at memtap stop or the end)", NULL,
     mt_note_number, offsetof(struct starting, seconds), 1, 86400 * 365},
    {0, "iterations", "N", "stop after the next N iterations of the program", NULL,
     mt_note_number, offsetof(struct starting, iterations), 1, MT_MOST_REQUESTED},
    {0}};
/* clang-format on */

/* Return the process's number as it sees itself: the last of its namespaces. */
static uint32_t own_pid(long pid)
{
    char path[64], line[256];
    unsigned long own = (unsigned long)pid;
    snprintf(path, sizeof path, "/proc/%ld/status", pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "NSpid:", 6))
            own = strtoul(strrchr(line, '\t') + 1, NULL, 10);
    if (file)
        fclose(file);
    return (uint32_t)own;
}

/* Map a process's switch; NULL: this is none, or its parent's. */
static struct mt_switch *map(long pid, const char *link)
{
    char name[64];
    struct stat status;
    ssize_t n = readlink(link, name, sizeof name - 1);
    name[n > 0 ? n : 0] = '\0';
    if (strncmp(name, "/memfd:" MT_SWITCH_NAME, strlen("/memfd:" MT_SWITCH_NAME)) != 0)
        return NULL;
    struct mt_switch *page = MAP_FAILED;
    int fd = open(link, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && !fstat(fd, &status) && status.st_size == sizeof *page)
        page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (page == MAP_FAILED)
        return NULL;
    if (page->version == MT_SWITCH_VERSION && page->pid == own_pid(pid))
        return page;
    munmap(page, sizeof *page);
    return NULL;
}

static bool is_in(const struct mt_switch *page, const char *folder)
{
    char found[PATH_MAX], wanted[PATH_MAX];
    return realpath(page->folder, found) && realpath(folder, wanted) && !strcmp(found, wanted);
}

/* Add a process if it has a switch and, unless folder is NULL, writes its trace there. Return 0 or
 * -ENOMEM. */
static int add(struct starting *starting, long pid, const char *folder)
{
    char path[64], link[128];
    struct mt_switch *page = NULL;
    struct dirent *entry;
    snprintf(path, sizeof path, "/proc/%ld/fd", pid);
    DIR *files = opendir(path);
    while (files && !page && (entry = readdir(files))) {
        snprintf(link, sizeof link, "%s/%.32s", path, entry->d_name);
        page = map(pid, link);
    }
    if (files)
        closedir(files);
    if (!page || (folder && !is_in(page, folder)))
        return 0;
    if (MT_GROW(starting->of, starting->capacity, starting->n))
        return -ENOMEM;
    starting->of[starting->n++] = (struct dormant){.pid = pid, .page = page};
    return 0;
}

static int add_process(struct starting *starting, const char *text)
{
    char path[64];
    struct mt_descendants all;
    size_t before = starting->n;
    long pid = strtol(text, NULL, 10);
    snprintf(path, sizeof path, "/proc/%ld", pid);
    if (pid <= 0 || pid > INT_MAX || access(path, F_OK))
        return mt_fail("%s: no such process", text);
    snprintf(path, sizeof path, "/proc/%ld/fd", pid);
    if (access(path, R_OK))
        return mt_fail("process %ld belongs to another user; only that user can start it", pid);
    int rc = mt_descendants_find(&all, (pid_t)pid);
    if (!rc)
        rc = add(starting, pid, NULL);
    for (size_t i = 0; i < all.n && !rc; i++)
        rc = add(starting, all.of[i].pid, NULL);
    free(all.of);
    if (rc)
        return mt_fail("out of memory");
    if (starting->n == before)
        return mt_fail("process %ld does not wait for a start: it is recorded from its beginning, "
                       "was not started with memtap run --dormant, or has not used CUDA yet",
                       pid);
    return MT_EXIT_OK;
}

static int add_folder(struct starting *starting, const char *folder)
{
    size_t before = starting->n;
    struct dirent *entry;
    int rc = 0;
    DIR *processes = opendir("/proc");
    while (processes && !rc && (entry = readdir(processes)))
        if (strtol(entry->d_name, NULL, 10) > 0)
            rc = add(starting, strtol(entry->d_name, NULL, 10), folder);
    if (processes)
        closedir(processes);
    if (rc)
        return mt_fail("out of memory");
    return starting->n > before
               ? MT_EXIT_OK
               : mt_fail("%s: no process that would write its trace there waits for a start",
                         folder);
}

/* Request the start, unless the process records. */
static int request(struct starting *starting, struct dormant *process)
{
    struct mt_switch *page = process->page;
    if (atomic_load(&page->is_recording))
        return mt_fail("process %ld is recorded already: %.*s", process->pid, PATH_MAX - 1,
                       page->trace);
    atomic_store(&page->seconds, (uint32_t)starting->seconds);
    atomic_store(&page->iterations, (uint32_t)starting->iterations);
    process->number = atomic_fetch_add(&page->wanted, 1) + 1;
    return MT_EXIT_OK;
}

static bool is_there(long pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld", pid);
    return !access(path, F_OK);
}

static bool is_answered(const struct dormant *process)
{
    return (int32_t)(atomic_load(&process->page->answered) - process->number) >= 0;
}

/* Wait for the answer and print it. Return an exit code. */
static int await(const struct dormant *process, uint64_t until)
{
    const struct timespec pause = {0, LOOK_NS};
    while (!is_answered(process) && is_there(process->pid) && mt_now_ns() < until)
        nanosleep(&pause, NULL);
    if (is_answered(process) && !*process->page->trace)
        return mt_fail("process %ld could not create its trace; it prints why", process->pid);
    if (is_answered(process))
        printf("process %ld is recorded in %.*s\n", process->pid, PATH_MAX - 1,
               process->page->trace);
    else if (is_there(process->pid))
        printf("process %ld will be recorded from its next allocation on\n", process->pid);
    else
        return mt_fail("process %ld has ended", process->pid);
    return MT_EXIT_OK;
}

static int start(struct starting *starting)
{
    int code = MT_EXIT_OK;
    for (size_t i = 0; i < starting->n; i++)
        if (request(starting, &starting->of[i]))
            code = MT_EXIT_BAD;
    uint64_t until = mt_now_ns() + MOST_WAIT_NS;
    for (size_t i = 0; i < starting->n; i++)
        if (starting->of[i].number && await(&starting->of[i], until))
            code = MT_EXIT_BAD;
    return code;
}

int mt_start_recordings(const struct mt_command *command, int argc, char **argv)
{
    struct starting starting = {0};
    int operand = mt_options_read(command, argc, argv, &starting);
    int code = operand < 0 ? MT_EXIT_BAD : MT_EXIT_OK;
    if (!code && operand == argc)
        code = add_folder(&starting, ".");
    for (int i = operand; i < argc && !code; i++)
        code = mt_is_folder(argv[i]) ? add_folder(&starting, argv[i])
                                     : add_process(&starting, argv[i]);
    if (!code)
        code = start(&starting);
    for (size_t i = 0; i < starting.n; i++)
        munmap(starting.of[i].page, sizeof *starting.of[i].page);
    free(starting.of);
    return mt_finish_output(code);
}
