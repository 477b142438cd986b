/* SPDX-License-Identifier: Apache-2.0 */
#include "author.h"
#include "author-stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A byte beyond any file's end: even where a lock keeps others from reading (SMB), it covers no
 * data. */
#define LOCK_AT ((off_t)1 << 62)

static int hexadecimal(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void mt_author_boot(unsigned char boot[16])
{
    char text[64];
    size_t n = mt_author_read("/proc/sys/kernel/random/boot_id", text, sizeof text);
    unsigned nibbles = 0;
    memset(boot, 0, 16);
    for (size_t i = 0; i < n && nibbles < 32; i++) {
        int value = hexadecimal(text[i]);
        if (value < 0)
            continue; /* a hyphen */
        boot[nibbles / 2] = (unsigned char)(boot[nibbles / 2] << 4 | value);
        nibbles++;
    }
}

uint64_t mt_author_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) ? 0 : status.st_ino;
}

size_t mt_author_read(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

/* Parse "NUMBER (NAME) STATE ...". The name may contain anything. */
int mt_author_stat(const char *path, struct mt_author_stat *out)
{
    char text[1024];
    mt_author_read(path, text, sizeof text);
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ')
        return -1;
    *out = (struct mt_author_stat){.state = at[2]};
    for (int field = 2; at; at = strchr(at + 1, ' '), field++) {
        uint64_t number = 0;
        for (const char *digit = at + 1; *digit >= '0' && *digit <= '9'; digit++)
            number = number * 10 + (uint64_t)(*digit - '0');
        if (field == 20)
            out->threads = number;
        if (field == 22)
            out->started = number;
    }
    return 0;
}

bool mt_author_lock(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_AT, .l_len = 1};
    return !fcntl(fd, F_OFD_SETLK, &lock);
}

bool mt_author_is_locked(int fd)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}

void mt_author_sign(struct mt_author *self, int fd)
{
    struct mt_author_stat stat = {0};
    struct stat status;
    memset(self, 0, sizeof *self);
    if (fstat(fd, &status) || mt_author_stat("/proc/self/stat", &stat))
        return;
    self->flags = mt_author_lock(fd) ? MT_AUTHOR_LOCKED : 0;
    self->pid = (uint32_t)getpid();
    self->started = stat.started;
    self->pid_namespace = mt_author_namespace();
    self->device = status.st_dev;
    self->inode = status.st_ino;
    mt_author_boot(self->boot);
}

#define HEADER 32 /* bytes before the author (FORMAT.md) */

/* As in linux/pidfd.h of Linux 6.15, which older headers lack. */
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
    if (!is_there(&author)) { /* the number was reused */
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
