/* SPDX-License-Identifier: Apache-2.0 */
#include "own-file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOWEST_FD 200 /* out of the way of programs that count on small numbers */

static int is_same(const struct mt_own_file *file, const struct stat *status)
{
    return status->st_dev == file->device && status->st_ino == file->inode;
}

static int move_up(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_FD);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

int mt_own_file_create(struct mt_own_file *file, const char *path, int flags)
{
    struct stat status;
    file->fd = open(path, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file->fd < 0)
        return -errno;
    file->fd = move_up(file->fd);
    if (fstat(file->fd, &status))
        return -errno;
    file->device = status.st_dev;
    file->inode = status.st_ino;
    return 0;
}

int mt_own_file_is_ours(const struct mt_own_file *file)
{
    struct stat status;
    return file->fd >= 0 && !fstat(file->fd, &status) && is_same(file, &status);
}

int mt_own_file_is_at(const struct mt_own_file *file, const char *path)
{
    struct stat status;
    return !lstat(path, &status) && is_same(file, &status);
}

void mt_own_file_unlink(const struct mt_own_file *file, const char *path)
{
    if (mt_own_file_is_at(file, path))
        unlink(path);
}

void mt_own_file_close(struct mt_own_file *file)
{
    if (mt_own_file_is_ours(file))
        close(file->fd);
    file->fd = -1;
}
