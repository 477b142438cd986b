/* SPDX-License-Identifier: Apache-2.0 */
#include "trace-copy.h"
#include "analyzer/support/text.h"
#include "analyzer/support/write.h"
#include "trace-format/block.h"
#include "trace-format/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECKSUM_PART 12

/* Copy the trace itself last, so that its presence means a complete copy. */
static const char *const suffixes[] = {MT_OLDER_SUFFIX, MT_TAIL_SUFFIX, ""};

static int write_name(char *out, size_t size, const char *path, const char *suffix)
{
    int n = snprintf(out, size, "%s%s", path, suffix);
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* Copy a file under a temporary name, then rename it. */
static int copy_file(const char *from, const char *to)
{
    char checksum[MT_CHECKSUM_TEXT], name[PATH_MAX];
    uint64_t size;
    int rc = write_name(name, sizeof name, to, ".part.XXXXXX");
    int fd = rc ? rc : mkostemp(name, O_CLOEXEC); /* new, for its owner, through no link */
    if (fd < 0)
        return rc ? rc : -errno;
    rc = mt_checksum_file(checksum, &size, from, fd);
    if (!rc && fsync(fd))
        rc = -errno;
    if (close(fd) && !rc)
        rc = -errno;
    if (!rc && rename(name, to))
        rc = -errno;
    if (rc)
        unlink(name);
    return rc;
}

static int copy_all(const char *path, const char *to)
{
    char from[PATH_MAX], copy[PATH_MAX];
    int rc = 0;
    for (size_t i = 0; !rc && i < sizeof suffixes / sizeof *suffixes; i++) {
        rc = write_name(from, sizeof from, path, suffixes[i]);
        if (!rc)
            rc = write_name(copy, sizeof copy, to, suffixes[i]);
        if (!rc && (!*suffixes[i] || !access(from, F_OK)))
            rc = copy_file(from, copy);
    }
    return rc;
}

int mt_history_copy_trace(const char *path, const char *folder, const char *checksum,
                          char out[PATH_MAX])
{
    char real[PATH_MAX];
    const char *name = mt_last_part(path);
    size_t length = strlen(name);
    if (length > 5 && !strcmp(name + length - 5, ".mtap"))
        length -= 5;
    if ((mkdir(folder, 0755) && errno != EEXIST) || !realpath(folder, real))
        return -errno;
    int n = snprintf(out, PATH_MAX, "%s/%.*s-%.*s.mtap", real, (int)length, name, CHECKSUM_PART,
                     checksum);
    if (n >= PATH_MAX)
        return -ENAMETOOLONG;
    return access(out, F_OK) ? copy_all(path, out) : 0;
}

/* Open the folder of a path below another folder, without following links. *name gets the path's
 * last part. Return a descriptor or a negative errno. */
static int open_folder_of(const char *path, const char *folder, const char **name)
{
    char real[PATH_MAX], part[NAME_MAX + 1];
    if (!realpath(folder, real))
        return -errno;
    size_t n = strcmp(real, "/") ? strlen(real) : 0;
    if (strncmp(path, real, n) != 0 || path[n] != '/')
        return -EXDEV;
    int fd = open(real, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), rc = fd < 0 ? -errno : 0;
    const char *at = path + n + 1;
    for (const char *slash; !rc && (slash = strchr(at, '/')); at = slash + 1) {
        int n_part = snprintf(part, sizeof part, "%.*s", (int)(slash - at), at);
        int next =
            n_part >= (int)sizeof part || !strcmp(part, "..")
                ? -1
                : openat(fd, *part ? part : ".", O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (next < 0)
            rc = errno == ENOENT ? -ENOENT : -EXDEV;
        close(fd);
        fd = next;
    }
    *name = at;
    return rc ? rc : fd;
}

/* Return whether a file begins with these bytes. */
static bool has_magic(int fd, const char *suffix)
{
    char magic[MT_FILE_MAGIC_SIZE];
    const char *wanted = strcmp(suffix, MT_TAIL_SUFFIX) ? MT_FILE_MAGIC : MT_TAIL_MAGIC;
    return pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
           !memcmp(magic, wanted, sizeof magic);
}

/* Return whether a file was created by mt_history_copy_trace: its name contains a part of its
 * checksum, "train-0123456789ab.mtap". */
static bool has_checksum(int fd, const char *name)
{
    char path[32], checksum[MT_CHECKSUM_TEXT];
    uint64_t size;
    size_t length = strlen(name), end = CHECKSUM_PART + strlen(".mtap");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return length > end && name[length - end - 1] == '-' &&
           !strcmp(name + length - strlen(".mtap"), ".mtap") &&
           !mt_checksum_file(checksum, &size, path, -1) &&
           !strncmp(checksum, name + length - end, CHECKSUM_PART);
}

/* Remove a file in a folder if it is a part of a copy. Return 0, -ENOENT, or another negative
 * errno. remove: false only checks. */
static int remove_part(int folder, const char *copy, const char *suffix, bool remove)
{
    char name[NAME_MAX + 1];
    struct stat status, now;
    if (write_name(name, sizeof name, copy, suffix))
        return -ENAMETOOLONG;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno == ELOOP ? -EXDEV : -errno;
    int rc = fstat(fd, &status)                                           ? -errno
             : !S_ISREG(status.st_mode) || !has_magic(fd, suffix)         ? -EXDEV
             : !*suffix && !has_checksum(fd, copy)                        ? -EXDEV
             : fstatat(folder, name, &now, AT_SYMLINK_NOFOLLOW)           ? -errno
             : now.st_dev != status.st_dev || now.st_ino != status.st_ino ? -EXDEV
             : remove && unlinkat(folder, name, 0)                        ? -errno
                                                                          : 0;
    close(fd);
    return rc;
}

int mt_history_remove_trace(const char *path, const char *folder)
{
    const char *name;
    int fd = open_folder_of(path, folder, &name);
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    int rc = remove_part(fd, name, "", false);
    for (size_t i = 0; !rc && i < sizeof suffixes / sizeof *suffixes; i++) {
        rc = remove_part(fd, name, suffixes[i], true);
        if (rc == -ENOENT)
            rc = 0;
    }
    close(fd);
    return rc == -ENOENT ? 0 : rc;
}

const char *mt_history_remove_error(int rc)
{
    return rc == -EXDEV ? "it is not a trace copied to the history's or the copies' folder; name "
                          "that folder with memtap history prune --copies FOLDER"
                        : strerror(-rc);
}

int mt_checksum_file(char out[MT_CHECKSUM_TEXT], uint64_t *size, const char *path, int copy)
{
    SHA2_CTX sum;
    unsigned char bytes[65536];
    int rc = 0, fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    *size = 0;
    SHA256Init(&sum);
    for (ssize_t n = 1; !rc && n;) {
        n = read(fd, bytes, sizeof bytes);
        if (n < 0) {
            rc = -errno;
        } else {
            SHA256Update(&sum, bytes, (size_t)n);
            *size += (uint64_t)n;
            rc = copy < 0 ? 0 : mt_write_all(copy, bytes, (size_t)n);
        }
    }
    close(fd);
    SHA256End(&sum, out);
    return rc;
}
