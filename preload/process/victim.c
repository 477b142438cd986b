/* SPDX-License-Identifier: Apache-2.0 */
#include "victim.h"
#include "preload/host/read-file.h"
#include "trace-format/tail-request.h"
#include "trace-format/tail.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST_MAPPINGS 20000u /* lines to read: some 10 ms */

static bool is_tail(const char *path)
{
    size_t n = strlen(path), end = sizeof MT_TAIL_SUFFIX - 1;
    return n > end && !strcmp(path + n - end, MT_TAIL_SUFFIX);
}

/* Find it by the process's mappings: the program may have closed the descriptor. */
int mt_victim_open(int pid)
{
    static char line[PATH_MAX + 128]; /* the handler's stack may be small */
    static struct mt_lines maps;
    static atomic_flag is_busy = ATOMIC_FLAG_INIT;
    char path[40];
    int tail = -1;
    if (atomic_flag_test_and_set(&is_busy))
        return -1;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    mt_lines_open(&maps, path);
    for (unsigned n = 0; tail < 0 && n < MOST_MAPPINGS; n++) {
        if (!mt_lines_next(&maps, line, sizeof line))
            break;
        const char *name = strchr(line, '/');
        if (name && is_tail(name))
            tail = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    }
    mt_lines_close(&maps);
    atomic_flag_clear(&is_busy);
    return tail;
}

/* Return the process's parent, 0 if unknown. The name before it may have any characters. */
static int find_parent(int pid)
{
    char path[40], text[128];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    mt_read_file(path, text, sizeof text);
    const char *name_end = strrchr(text, ')');
    return name_end && sscanf(name_end, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* Return whether this process is an ancestor. A killed process keeps its parent until that has
 * reaped it. */
static bool descends_from_us(int pid)
{
    for (int depth = 0; pid > 1 && depth < 16; depth++) {
        pid = find_parent(pid);
        if (pid == getpid())
            return true;
    }
    return false;
}

void mt_victim_note(int tail, int pid, int signal)
{
    char how[64];
    snprintf(how, sizeof how, "signal %d from %s%d", signal,
             descends_from_us(pid) ? "ancestor " : "", (int)getpid());
    mt_tail_end_put(tail, MT_ANY_TRACE, pid, how); /* a failure only costs the note */
}
