/* SPDX-License-Identifier: Apache-2.0 */
#include "original.h"
#include "trace-format/block.h"
#include "trace-format/little-endian.h"
#include "trace-format/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct name {
    char path[PATH_MAX + 32];
};

static struct name beside(const struct mt_original *original, const char *suffix, const char *more)
{
    struct name name;
    snprintf(name.path, sizeof name.path, "%s%s%s", original->path, suffix, more);
    return name;
}

/* Return whether a tail belongs to this trace. Others are not removed. */
static bool is_of_trace(const struct mt_original *original, const struct mt_tail_header *header)
{
    unsigned char bytes[MT_FILE_HEADER_SIZE];
    int fd = open(original->path, O_RDONLY | O_CLOEXEC);
    bool is_read = fd >= 0 && pread(fd, bytes, sizeof bytes, 0) == (ssize_t)sizeof bytes;
    uint64_t id = is_read ? mt_get64(bytes + MT_TRACE_ID_AT) : 0;
    if (fd >= 0)
        close(fd);
    return is_read && (header->mark[0].trace_id == id || header->mark[1].trace_id == id);
}

static int read_tail(struct mt_original *original)
{
    struct mt_tail_header header;
    int fd = open(beside(original, MT_TAIL_SUFFIX, "").path,
                  O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    original->has_tail = !fstat(fd, &original->tail) &&
                         pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
                         is_of_trace(original, &header);
    original->progress = original->has_tail ? header.turn + header.journal_put + header.end : 0;
    for (uint32_t i = 0; original->has_tail && i < header.slots && i < MT_TAIL_SLOTS; i++) {
        uint64_t put;
        off_t at = (off_t)(mt_tail_ring_at(i) + offsetof(struct mt_ring, put));
        if (pread(fd, &put, sizeof put, at) == (ssize_t)sizeof put)
            original->progress += put;
    }
    close(fd);
    return 0;
}

int mt_original_note(struct mt_original *original, const char *path)
{
    memset(original, 0, sizeof *original);
    if (!realpath(path, original->path) || stat(original->path, &original->trace))
        return -errno;
    return read_tail(original);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Return whether a file has changed. The tail is mapped, so its modification time lags. */
static bool has_changed(const struct mt_original *original)
{
    struct mt_original now;
    return mt_original_note(&now, original->path) || !is_same(&now.trace, &original->trace) ||
           now.has_tail != original->has_tail || now.progress != original->progress ||
           (now.has_tail && (now.tail.st_ino != original->tail.st_ino ||
                             now.tail.st_size != original->tail.st_size));
}

bool mt_original_is_there(const struct mt_original *original)
{
    struct stat now;
    return !stat(original->path, &now) && now.st_dev == original->trace.st_dev &&
           now.st_ino == original->trace.st_ino;
}

int mt_original_begin(const struct mt_original *original, char temporary[PATH_MAX])
{
    if (snprintf(temporary, PATH_MAX, "%s.XXXXXX", original->path) >= PATH_MAX)
        return -ENAMETOOLONG;
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    /* A user without the right to change the owner remains the owner. */
    if (fchown(fd, original->trace.st_uid, original->trace.st_gid))
        errno = 0;
    if (fchmod(fd, original->trace.st_mode & 0777))
        errno = 0;
    return fd;
}

static int keep(const struct mt_original *original)
{
    struct name trace = beside(original, MT_KEPT_SUFFIX, ""),
                tail = beside(original, MT_KEPT_SUFFIX, MT_TAIL_SUFFIX);
    if (link(original->path, trace.path))
        return -errno;
    if (!original->has_tail || !link(beside(original, MT_TAIL_SUFFIX, "").path, tail.path))
        return 0;
    int rc = -errno;
    unlink(trace.path);
    return rc;
}

static void forget_kept(const struct mt_original *original)
{
    unlink(beside(original, MT_KEPT_SUFFIX, "").path);
    unlink(beside(original, MT_KEPT_SUFFIX, MT_TAIL_SUFFIX).path);
}

int mt_original_replace(const struct mt_original *original, const char *temporary, bool is_over)
{
    if (has_changed(original))
        return -EBUSY;
    int rc = is_over ? 0 : keep(original);
    if (rc)
        return rc;
    if (rename(temporary, original->path)) {
        rc = -errno;
        if (!is_over)
            forget_kept(original);
        return rc;
    }
    if (original->has_tail)
        unlink(beside(original, MT_TAIL_SUFFIX, "").path);
    return 0;
}
