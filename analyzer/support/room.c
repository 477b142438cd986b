/* SPDX-License-Identifier: Apache-2.0 */
#include "room.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEPS_AN_EVENT 64u /* that --most-events allows */
#define KNOWN 64u          /* files that are distinguished */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_limited;
static struct mt_limits chosen;
static uint64_t input;
static rlim_t before_limit = RLIM_INFINITY;      /* the process's own */
static uint64_t machine;                         /* before memtap limits the process itself */
static atomic_uint_fast64_t memory, work;        /* the limits; memory 0: none */
static atomic_uint_fast64_t output = UINT64_MAX; /* likewise */
static atomic_uint_fast64_t done;

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Return the first number in a kernel file; UINT64_MAX: none, or "max". */
static uint64_t number_in(const char *path)
{
    char text[32], *end;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return UINT64_MAX;
    text[n] = '\0';
    uint64_t number = strtoull(text, &end, 10);
    return end == text ? UINT64_MAX : number;
}

uint64_t mt_room_of_machine(void)
{
    static const int resources[] = {RLIMIT_AS, RLIMIT_DATA};
    static const char *const groups[] = {"/sys/fs/cgroup/memory.max",
                                         "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
    struct rlimit limit;
    for (unsigned i = 0; i < 2; i++) {
        bytes = least(bytes, number_in(groups[i]));
        if (!getrlimit(resources[i], &limit) && limit.rlim_cur != RLIM_INFINITY)
            bytes = least(bytes, limit.rlim_cur);
    }
    return bytes / 2;
}

/* Return the memory limit of the process. A sanitizer reserves terabytes of addresses. */
static void limit_process(void)
{
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    struct rlimit data;
    if (!getrlimit(RLIMIT_DATA, &data) &&
        (data.rlim_max == RLIM_INFINITY || data.rlim_max > memory)) {
        data.rlim_cur = memory;
        setrlimit(RLIMIT_DATA, &data);
    }
#endif
}

/* Set the limits by the bytes read so far. */
static void set(void)
{
    const uint64_t *most = chosen.most;
    memory = most[MT_LIMIT_MEMORY] ? most[MT_LIMIT_MEMORY] : least(machine, mt_memory_for(input));
    work = most[MT_LIMIT_EVENTS] ? most[MT_LIMIT_EVENTS] * STEPS_AN_EVENT : mt_work_for(input);
    output = most[MT_LIMIT_OUTPUT] ? most[MT_LIMIT_OUTPUT] : mt_output_for(input);
    limit_process();
}

void mt_room_begin(const struct mt_limits *limits)
{
    struct rlimit data;
    chosen = *limits;
    machine = mt_room_of_machine();
    if (!is_limited && !getrlimit(RLIMIT_DATA, &data))
        before_limit = data.rlim_cur;
    is_limited = true;
    set();
}

void mt_room_leave(void)
{
    struct rlimit data;
    if (is_limited && !getrlimit(RLIMIT_DATA, &data)) {
        data.rlim_cur = before_limit;
        setrlimit(RLIMIT_DATA, &data);
    }
}

void mt_room_input(const char *path)
{
    static struct {
        dev_t device;
        ino_t number;
        uint64_t size;
    } known[KNOWN];
    static size_t n_known;
    struct stat status;
    size_t i = 0;
    if (!is_limited || stat(path, &status))
        return;
    pthread_mutex_lock(&lock);
    while (i < n_known && (known[i].device != status.st_dev || known[i].number != status.st_ino))
        i++;
    if (i == n_known) {
        i = n_known < KNOWN ? n_known++ : (size_t)(status.st_ino % KNOWN);
        known[i].device = status.st_dev;
        known[i].number = status.st_ino;
        known[i].size = 0;
    }
    if ((uint64_t)status.st_size > known[i].size) {
        input += (uint64_t)status.st_size - known[i].size;
        known[i].size = (uint64_t)status.st_size;
        set();
    }
    pthread_mutex_unlock(&lock);
}

uint64_t mt_room(void)
{
    return memory / 2;
}

void *mt_room_of_thread(void)
{
    return NULL;
}

void mt_room_use(void *room)
{
    (void)room;
}

const char *mt_room_raised_by(void)
{
    return "memtap --most-memory SIZE ...";
}

uint64_t mt_room_of_output(void)
{
    return output;
}

bool mt_work_is_too_much(uint64_t steps)
{
    return is_limited && atomic_fetch_add(&done, steps) + steps > work;
}

bool mt_room_is_full(void)
{
    unsigned long long pages = 0;
    char text[128];
    if (!memory)
        return false;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (n > 0) {
        text[n] = '\0';
        sscanf(text, "%*u %llu", &pages);
    }
    return pages * (uint64_t)sysconf(_SC_PAGESIZE) > mt_room();
}

unsigned mt_machine_processors(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return n > 0 ? (unsigned)n : 1;
}

uint64_t mt_machine_available(void)
{
    char line[256];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return (uint64_t)kib << 10;
}
