/* SPDX-License-Identifier: Apache-2.0 */
#include "trace-copy.h"
#include "analyzer/support/text.h"
#include "analyzer/support/write.h"
#include "trace-format/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECKSUM_PART 12

/* The trace itself comes last: if it is there, the copy is whole. */
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

int mt_history_remove_trace(const char *path)
{
    char name[PATH_MAX];
    int rc = 0;
    for (size_t i = sizeof suffixes / sizeof *suffixes; i--;)
        if (!write_name(name, sizeof name, path, suffixes[i]) && unlink(name) && errno != ENOENT)
            rc = -errno;
    return rc;
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
