/* SPDX-License-Identifier: Apache-2.0 */
#include "room.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t room;

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Return the first number in a kernel file; UINT64_MAX: there is none, or it has "max". */
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

void mt_room_set(uint64_t bytes)
{
    room = bytes;
}

uint64_t mt_room(void)
{
    return room;
}

bool mt_room_is_full(void)
{
    unsigned long long pages = 0;
    char text[128];
    if (!room)
        return false;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (n > 0) {
        text[n] = '\0';
        sscanf(text, "%*u %llu", &pages);
    }
    return pages * (uint64_t)sysconf(_SC_PAGESIZE) > room;
}
