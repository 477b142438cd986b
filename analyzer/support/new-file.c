/* SPDX-License-Identifier: Apache-2.0 */
#include "new-file.h"
#include "guard.h"
#include "room.h"
#include "text.h"
#include "write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_TRIES 100 /* attempts to find an unused name */

/* Find "/folder/" of "/folder/file"; "./" of "file". */
static int folder_of(char folder[PATH_MAX], const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t size = slash ? (size_t)(slash - path) + 1 : 0;
    if (size + 2 >= PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(folder, path, size);
    memcpy(folder + size, size ? "" : "./", size ? 1 : 3);
    return 0;
}

int mt_make_folders(const char *path)
{
    char folder[PATH_MAX];
    if (folder_of(folder, path))
        return -ENAMETOOLONG;
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int rc = mkdir(folder, 0777) && errno != EEXIST && errno != EISDIR ? -errno : 0;
        *slash = '/';
        if (rc && access(folder, F_OK))
            return rc;
    }
    return 0;
}

/* Return whether another user may have planted the file for us to write through: a link in any
 * folder that others may write to; another file in a sticky folder that everybody may write to
 * (/tmp). */
static bool is_planted(const struct stat *status, const struct stat *folder)
{
    if (!status->st_uid || status->st_uid == geteuid() || status->st_uid == folder->st_uid)
        return false;
    if (S_ISLNK(status->st_mode))
        return folder->st_mode & (S_IWGRP | S_IWOTH);
    return !S_ISCHR(status->st_mode) && !S_ISBLK(status->st_mode) && folder->st_mode & S_IWOTH &&
           folder->st_mode & S_ISVTX;
}

/* Resolve links to the file to be written. Fill in its status; st_mode 0: missing. */
static int find(char path[PATH_MAX], struct stat *status)
{
    char folder[PATH_MAX], real[PATH_MAX];
    struct stat around;
    memset(status, 0, sizeof *status);
    int rc = folder_of(folder, path);
    if (!rc && stat(folder, &around))
        rc = -errno;
    if (rc)
        return rc;
    if (lstat(path, status)) {
        memset(status, 0, sizeof *status);
        return errno == ENOENT ? 0 : -errno;
    }
    if (is_planted(status, &around))
        return -ELOOP;
    if (!S_ISLNK(status->st_mode))
        return 0;
    /* Leave /dev/stdout to the kernel: it may lead to a pipe, which has no path. */
    if (!stat(path, status) && !S_ISREG(status->st_mode))
        return 0;
    if (!realpath(path, real))
        return -errno;
    strcpy(path, real);
    return lstat(path, status) ? -errno : 0;
}

static int find_and_make(char path[PATH_MAX], struct stat *status)
{
    int rc = find(path, status);
    if (rc != -ENOENT || !lstat(path, status))
        return rc;
    rc = mt_make_folders(path);
    return rc ? rc : find(path, status);
}

/* Give the file an unused name by try_name, which returns 0, or -1 with errno. */
static int name_temporary(struct mt_new_file *file, int (*try_name)(struct mt_new_file *file))
{
    for (unsigned i = 0; i < MOST_TRIES; i++) {
        uint32_t number = 0;
        if (getrandom(&number, sizeof number, 0) < 0)
            number = (uint32_t)getpid() + i;
        if (snprintf(file->temporary, sizeof file->temporary, "%s.%08x.tmp", file->path, number) >=
            (int)sizeof file->temporary)
            errno = ENAMETOOLONG;
        else if (!try_name(file))
            return 0;
        if (errno != EEXIST)
            break;
    }
    *file->temporary = '\0';
    return -errno;
}

static mode_t new_mode(const struct mt_new_file *file)
{
    mode_t inputs = file->how & MT_FILE_AS_INPUTS ? mt_inputs_mode() : 0666;
    return file->how & MT_FILE_PRIVATE ? 0600 : (inputs & 0666) | 0600;
}

static int open_without_name(const struct mt_new_file *file)
{
    char folder[PATH_MAX];
    int rc = folder_of(folder, file->path);
    return rc ? rc : open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, new_mode(file));
}

static int try_open(struct mt_new_file *file)
{
    file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, new_mode(file));
    return file->fd < 0 ? -1 : 0;
}

/* Copy the mode and owner of the replaced file. A user without the right to give files away remains
 * the owner. */
static int take_mode(const struct mt_new_file *file, const struct stat *old)
{
    if (fchown(file->fd, old->st_uid, old->st_gid) && fchown(file->fd, (uid_t)-1, old->st_gid))
        errno = 0;
    return fchmod(file->fd, old->st_mode & 0777) ? -errno : 0;
}

static int check_old(const struct mt_new_file *file, const struct stat *old)
{
    if (S_ISDIR(old->st_mode))
        return -EISDIR;
    if (file->how & MT_FILE_ONLY_NEW && old->st_mode)
        return -EEXIST;
    int rc = file->how & MT_FILE_IN_PLACE ? 0 : mt_guard_output(file->path, old);
    if (rc || !old->st_mode)
        return rc;
    return faccessat(AT_FDCWD, file->path, W_OK, AT_EACCESS) ? -errno : 0;
}

int mt_new_file_open(struct mt_new_file *file, const char *path, unsigned how)
{
    struct stat old;
    *file = (struct mt_new_file){.how = how, .fd = -1};
    if (snprintf(file->path, sizeof file->path, "%s", path) >= (int)sizeof file->path)
        return -ENAMETOOLONG;
    int rc = find_and_make(file->path, &old);
    if (rc)
        return rc;
    file->is_direct = old.st_mode && !S_ISREG(old.st_mode) && !S_ISDIR(old.st_mode);
    if (file->is_direct) {
        file->fd = open(file->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return file->fd < 0 ? -errno : 0;
    }
    rc = check_old(file, &old);
    if (!rc && (file->fd = open_without_name(file)) < 0)
        rc = name_temporary(file, try_open);
    if (!rc && old.st_mode && (rc = take_mode(file, &old)))
        mt_new_file_drop(file);
    return rc;
}

static ssize_t write_bounded(void *cookie, const char *bytes, size_t size)
{
    struct mt_new_file *file = cookie;
    file->is_full = file->is_full || size > mt_room_of_output() - file->written;
    int rc = file->is_full ? MT_OUTPUT_FULL : mt_write_all(file->fd, bytes, size);
    if (rc) {
        errno = -rc;
        return 0;
    }
    file->written += size;
    return (ssize_t)size;
}

FILE *mt_new_file_stream(struct mt_new_file *file)
{
    return fopencookie(file, "w", (cookie_io_functions_t){.write = write_bounded});
}

static int link_to(const struct mt_new_file *file, const char *name)
{
    char self[32];
    snprintf(self, sizeof self, "/proc/self/fd/%d", file->fd);
    return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

static int try_link(struct mt_new_file *file)
{
    return link_to(file, file->temporary);
}

static int give_name(struct mt_new_file *file)
{
    bool is_only_new = file->how & MT_FILE_ONLY_NEW;
    if (!*file->temporary) {
        if (is_only_new)
            return link_to(file, file->path) ? -errno : 0;
        int rc = name_temporary(file, try_link);
        if (rc)
            return rc;
    }
    if (is_only_new ? link(file->temporary, file->path) : rename(file->temporary, file->path))
        return -errno;
    if (is_only_new)
        unlink(file->temporary);
    *file->temporary = '\0';
    return 0;
}

/* Check again what the file replaces: it may have appeared since, or turned out to be an input. */
static int check_again(const struct mt_new_file *file)
{
    struct stat now = {0};
    if (file->how & (MT_FILE_ONLY_NEW | MT_FILE_IN_PLACE))
        return 0;
    if (lstat(file->path, &now))
        now.st_mode = 0;
    return mt_guard_output(file->path, &now);
}

int mt_new_file_keep(struct mt_new_file *file)
{
    int rc = file->is_direct ? 0 : check_again(file);
    if (!rc && !file->is_direct)
        rc = give_name(file);
    if (close(file->fd) && !rc)
        rc = -errno;
    if (rc && *file->temporary)
        unlink(file->temporary);
    return rc;
}

void mt_new_file_drop(struct mt_new_file *file)
{
    close(file->fd);
    if (*file->temporary)
        unlink(file->temporary);
}

int mt_new_file_close(struct mt_new_file *file, FILE *out, int rc)
{
    if (!out && !rc)
        rc = errno ? -errno : -EIO;
    bool has_failed = out && ferror(out);
    if (out && fclose(out) && !rc)
        rc = -errno;
    if (!rc && has_failed)
        rc = -EIO;
    if (file->is_full)
        rc = MT_OUTPUT_FULL;
    if (!rc)
        return mt_new_file_keep(file);
    mt_new_file_drop(file);
    return rc;
}

int mt_append_open(const char *path)
{
    char place[PATH_MAX];
    struct stat old;
    if (snprintf(place, sizeof place, "%s", path) >= (int)sizeof place)
        return -ENAMETOOLONG;
    int rc = find_and_make(place, &old);
    if (!rc)
        rc = mt_guard_output(place, &old);
    int fd = rc ? rc : open(place, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
    return fd < 0 && !rc ? -errno : fd;
}

int mt_check_output(const char *path)
{
    char place[PATH_MAX];
    struct stat old;
    if (snprintf(place, sizeof place, "%s", path) >= (int)sizeof place)
        return -ENAMETOOLONG;
    int rc = find(place, &old);
    if (!rc)
        rc = mt_guard_output(place, &old);
    return rc == -ENOENT ? 0 : rc;
}

const char *mt_output_error(int rc)
{
    static char text[120];
    char size[MT_SIZE_TEXT];
    if (rc == MT_OUTPUT_FULL) {
        snprintf(text, sizeof text,
                 "the file would exceed %s; memtap --most-output SIZE ... allows more",
                 mt_size_text(size, mt_room_of_output()));
        return text;
    }
    if (mt_guard_error(rc))
        return mt_guard_error(rc);
    return rc == -ELOOP ? "it belongs to another user, in a folder that others can write to; "
                          "remove it, or give another file"
                        : strerror(-rc);
}

FILE *mt_unnamed_file(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w+b") : NULL;
    if (fd >= 0 && !file)
        close(fd);
    return file ? file : tmpfile();
}
