/* SPDX-License-Identifier: Apache-2.0 */
#include "author-end.h"
#include "author-stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HEADER 32 /* bytes before the author (FORMAT.md) */

/* As in linux/pidfd.h of Linux 6.15; older ones lack it. */
struct process_info {
    uint64_t mask, cgroup;
    uint32_t pid, thread_group, parent, owners[8];
    int32_t exit_code;
};
_Static_assert(sizeof(struct process_info) == 64, "the size is part of the request");
#define HAS_EXIT (1u << 3)
#define GET_INFO _IOWR(0xFF, 11, struct process_info)

static int read_author(const char *trace_path, struct mt_author *author)
{
    unsigned char bytes[HEADER + MT_AUTHOR_SIZE];
    int fd = open(trace_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    ssize_t n = pread(fd, bytes, sizeof bytes, 0);
    close(fd);
    if (n != sizeof bytes || bytes[10] != sizeof bytes || bytes[11])
        return -EINVAL;
    mt_author_get(bytes + HEADER, author);
    return 0;
}

static bool is_there(const struct mt_author *author)
{
    char path[64];
    struct mt_author_stat stat;
    snprintf(path, sizeof path, "/proc/%u/stat", author->pid);
    return !mt_author_stat(path, &stat) && stat.started == author->started;
}

int mt_author_follow(const char *trace_path, uint32_t *pid)
{
    struct mt_author author;
    uint64_t here = mt_author_namespace();
    int rc = read_author(trace_path, &author);
    if (rc)
        return rc;
    if (!author.pid || !here || author.pid_namespace != here)
        return -ESRCH;
    int process = (int)syscall(SYS_pidfd_open, (pid_t)author.pid, 0);
    if (process < 0)
        return -errno;
    if (!is_there(&author)) { /* another process has the number by now */
        close(process);
        return -ESRCH;
    }
    *pid = author.pid;
    return process;
}

int mt_author_end(int process, int *status)
{
    struct process_info info = {.mask = HAS_EXIT};
    if (ioctl(process, GET_INFO, &info) || !(info.mask & HAS_EXIT))
        return -EAGAIN;
    *status = info.exit_code;
    return 0;
}
