/* SPDX-License-Identifier: Apache-2.0 */
#include "own-file.h"
#include "settings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define BELOW_FD 1024 /* a larger number would grow the kernel's descriptor table */
#define OWN_FDS 32    /* numbers for our files, below that */
#define FREE_FDS 4    /* that must remain for the program, or we open no file */

static bool is_same(const struct mt_own_file *file, const struct stat *status)
{
    return status->st_dev == file->device && status->st_ino == file->inode;
}

/* Return the process's limit of descriptors, or INT_MAX. */
static int most_fds(void)
{
    struct rlimit limit;
    return !getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < INT_MAX ? (int)limit.rlim_cur
                                                                         : INT_MAX;
}

/* Move a descriptor away from programs that rely on small numbers or list their own: just below the
 * process's limit, or if those are in use, below half of it, and so on. */
static int move_up(int fd, int most)
{
    for (int below = most < BELOW_FD ? most : BELOW_FD; below - OWN_FDS > fd; below /= 2) {
        int high = fcntl(fd, F_DUPFD_CLOEXEC, below - OWN_FDS);
        if (high < 0)
            continue;
        close(fd);
        return high;
    }
    return fd;
}

int mt_own_fd_move(int fd)
{
    int most = most_fds();
    if (fd < most - FREE_FDS)
        return move_up(fd, most);
    close(fd);
    return -1;
}

int mt_own_file_create(struct mt_own_file *file, const char *path, int flags)
{
    struct stat status;
    int fd = open(path, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    file->fd = mt_own_fd_move(fd);
    if (file->fd < 0) {
        unlink(path);
        return -EMFILE;
    }
    /* A file system without permissions is as good. */
    if (mt_settings.file_mode && fchmod(file->fd, (mode_t)mt_settings.file_mode))
        errno = 0;
    if (fstat(file->fd, &status))
        return -errno;
    file->device = status.st_dev;
    file->inode = status.st_ino;
    if (!stat("/", &status)) {
        file->root_device = status.st_dev;
        file->root_inode = status.st_ino;
    }
    return 0;
}

bool mt_own_file_is_ours(const struct mt_own_file *file)
{
    struct stat status;
    return file->fd >= 0 && !fstat(file->fd, &status) && is_same(file, &status);
}

/* Return whether the file has this name. */
static bool own_file_is_at(const struct mt_own_file *file, const char *path)
{
    struct stat status;
    return !lstat(path, &status) && is_same(file, &status);
}

enum mt_file_place mt_own_file_place(const struct mt_own_file *file, const char *path)
{
    struct stat status, root;
    if (file->fd < 0 || fstat(file->fd, &status) || !is_same(file, &status))
        return MT_FILE_NOT_OPEN;
    if (own_file_is_at(file, path))
        return MT_FILE_HERE;
    if (!status.st_nlink)
        return MT_FILE_GONE;
    bool has_root =
        !stat("/", &root) && root.st_dev == file->root_device && root.st_ino == file->root_inode;
    bool can_look = !lstat(path, &status) || errno == ENOENT;
    return has_root && can_look ? MT_FILE_RENAMED : MT_FILE_OUT_OF_REACH;
}

bool mt_own_file_has_size(const struct mt_own_file *file, uint64_t size)
{
    struct stat status;
    return !fstat(file->fd, &status) && is_same(file, &status) && (uint64_t)status.st_size == size;
}

void mt_own_file_unlink(const struct mt_own_file *file, const char *path)
{
    if (own_file_is_at(file, path))
        unlink(path);
}

static bool is_leftover(const struct stat *status, int fd, const void *begin, size_t size)
{
    char read_here[32];
    return S_ISREG(status->st_mode) && status->st_uid == geteuid() && size <= sizeof read_here &&
           (!status->st_size ||
            (pread(fd, read_here, size, 0) == (ssize_t)size && !memcmp(read_here, begin, size)));
}

void mt_own_file_remove_leftover(const char *path, const void *begin, size_t size)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (!fstat(fd, &status) && is_leftover(&status, fd, begin, size))
        mt_own_file_unlink(&(struct mt_own_file){.device = status.st_dev, .inode = status.st_ino},
                           path);
    close(fd);
}

void mt_own_file_close(struct mt_own_file *file)
{
    if (mt_own_file_is_ours(file))
        close(file->fd);
    file->fd = -1;
}
