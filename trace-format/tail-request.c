/* SPDX-License-Identifier: Apache-2.0 */
#include "tail-request.h"
#include "tail.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static bool read_word(int fd, size_t offset, uint32_t *word)
{
    return pread(fd, word, sizeof *word, (off_t)offset) == (ssize_t)sizeof *word;
}

/* Write a word with pwrite: a mapping could fault if the file is truncated. The page cache shows it
 * to both sides. */
static int write_word(int fd, size_t offset, uint32_t word)
{
    ssize_t n = pwrite(fd, &word, sizeof word, (off_t)offset);
    return n == (ssize_t)sizeof word ? 0 : n < 0 ? -errno : -EIO;
}

static int check(int fd)
{
    unsigned char magic[MT_TAIL_MAGIC_SIZE];
    uint32_t version;
    if (pread(fd, magic, sizeof magic, 0) != (ssize_t)sizeof magic ||
        memcmp(magic, MT_TAIL_MAGIC, sizeof magic) ||
        !read_word(fd, offsetof(struct mt_tail_header, version), &version))
        return -ENOENT; /* it is being created */
    return version == MT_TAIL_VERSION ? 0 : -EPROTO;
}

/* Make the request and hold the file's lock until it is answered: two at once would merge. */
static int request_writing(struct mt_tail_request *request, uint32_t iterations, bool wants_holders,
                           bool wants_stop)
{
    uint32_t requested;
    if (flock(request->fd, LOCK_EX | LOCK_NB))
        return errno == EWOULDBLOCK ? -EBUSY : -errno;
    if (!read_word(request->fd, offsetof(struct mt_tail_header, requested), &requested))
        return -EIO;
    request->number = requested + 1;
    int rc =
        write_word(request->fd, offsetof(struct mt_tail_header, requested_iterations), iterations);
    if (!rc && wants_holders)
        rc = write_word(request->fd, offsetof(struct mt_tail_header, requested_holders),
                        request->number);
    if (!rc && wants_stop)
        rc = write_word(request->fd, offsetof(struct mt_tail_header, requested_stop),
                        request->number);
    return rc ? rc
              : write_word(request->fd, offsetof(struct mt_tail_header, requested),
                           request->number);
}

int mt_tail_request_make(struct mt_tail_request *request, const char *trace, uint32_t iterations,
                         bool wants_holders, bool wants_stop)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s" MT_TAIL_SUFFIX, trace);
    request->fd = -1;
    if (n < 0 || (size_t)n >= sizeof path)
        return -ENAMETOOLONG;
    request->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (request->fd < 0)
        return -errno;
    int rc = check(request->fd);
    if (!rc)
        rc = request_writing(request, iterations, wants_holders, wants_stop);
    if (rc)
        mt_tail_request_close(request);
    return rc;
}

/* Return whether one counter has reached another; counters wrap around. */
static bool has_reached(const struct mt_tail_request *request, size_t offset)
{
    uint32_t number;
    return read_word(request->fd, offset, &number) && (int32_t)(number - request->number) >= 0;
}

enum mt_tail_answer mt_tail_request_answer(const struct mt_tail_request *request)
{
    if (!has_reached(request, offsetof(struct mt_tail_header, answered)))
        return MT_ANSWER_NONE;
    return has_reached(request, offsetof(struct mt_tail_header, finished)) ? MT_ANSWER_FINISHED
                                                                           : MT_ANSWER_ACCEPTED;
}

void mt_tail_request_close(struct mt_tail_request *request)
{
    if (request->fd >= 0)
        close(request->fd); /* and with it, the lock */
    request->fd = -1;
}

static bool is_tail_of(const struct mt_tail_header *header, uint64_t trace_id)
{
    return !memcmp(header->magic, MT_TAIL_MAGIC, MT_TAIL_MAGIC_SIZE) &&
           header->version == MT_TAIL_VERSION &&
           (trace_id == MT_ANY_TRACE || header->mark[0].trace_id == trace_id ||
            header->mark[1].trace_id == trace_id);
}

/* Write the text first: it counts only once `end` is set. */
int mt_tail_end_put(int fd, uint64_t trace_id, pid_t pid, const char *how)
{
    struct mt_tail_header header;
    char why[sizeof header.why] = "";
    const uint32_t end = MT_TAIL_ENDED;
    if (pread(fd, &header, sizeof header, 0) != sizeof header || !is_tail_of(&header, trace_id))
        return -EINVAL;
    if (header.pid != (uint32_t)pid)
        return -ESRCH;
    if (atomic_load(&header.end) != MT_TAIL_GOES_ON)
        return -EBUSY;
    strncpy(why, how, sizeof why - 1);
    if (pwrite(fd, why, sizeof why, offsetof(struct mt_tail_header, why)) != sizeof why ||
        pwrite(fd, &end, sizeof end, offsetof(struct mt_tail_header, end)) != sizeof end)
        return -EIO;
    return 0;
}
