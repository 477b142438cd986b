/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_SUFFIXES 10000
#define LOWEST_FD 200 /* out of the way of programs that count on small numbers */

static const char *rank(void)
{
    static const char *const variables[] = {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i]))
            return getenv(variables[i]);
    return "0";
}

/* What stands for a letter of the pattern; NULL: the letter has no meaning. */
static const char *meaning(char letter, char *scratch, size_t size)
{
    switch (letter) {
    case 'p':
        snprintf(scratch, size, "%d", (int)getpid());
        return scratch;
    case 'e':
        return program_invocation_short_name;
    case 'h':
        return gethostname(scratch, size) ? "host" : scratch;
    case 'r':
        return rank();
    case '%':
        return "%";
    }
    return NULL;
}

int mt_output_name(struct mt_output *out, const char *pattern)
{
    const size_t size = sizeof out->path - 8; /* room for a suffix */
    size_t used = 0;
    for (const char *at = pattern; *at; at++) {
        char scratch[256], plain[2] = {*at, '\0'};
        const char *text = *at == '%' ? meaning(at[1], scratch, sizeof scratch) : NULL;
        if (text)
            at++;
        else
            text = plain;
        size_t length = strlen(text);
        if (used + length >= size)
            return -ENAMETOOLONG;
        memcpy(out->path + used, text, length);
        used += length;
    }
    out->path[used] = '\0';
    return 0;
}

static int create(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0600);
}

static int move_up(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_FD);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

int mt_output_open(struct mt_output *out)
{
    struct stat status;
    out->fd = -1;
    out->size = 0;
    size_t length = strlen(out->path);
    int fd = create(out->path);
    for (int i = 1; fd < 0 && errno == EEXIST && i < MOST_SUFFIXES; i++) {
        snprintf(out->path + length, sizeof out->path - length, ".%d", i);
        fd = create(out->path);
    }
    if (fd < 0)
        return -errno;
    if (out->path[length])
        mt_message("%.*s is there already; writing %s", (int)length, out->path, out->path);
    out->fd = move_up(fd);
    if (fstat(out->fd, &status))
        return -errno;
    out->device = status.st_dev;
    out->inode = status.st_ino;
    return 0;
}

static int is_ours(const struct mt_output *out)
{
    struct stat status;
    return !fstat(out->fd, &status) && status.st_dev == out->device && status.st_ino == out->inode;
}

int mt_output_append(struct mt_output *out, const void *bytes, size_t size)
{
    if (!is_ours(out)) {
        out->fd = -1; /* not ours to close */
        return -ESTALE;
    }
    for (size_t done = 0; done < size;) {
        ssize_t n = write(out->fd, (const char *)bytes + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int rc = -errno;
            if (ftruncate(out->fd, (off_t)out->size))
                return rc; /* the reader stops at the cut block */
            return rc;
        }
        done += (size_t)n;
    }
    out->size += size;
    return 0;
}

void mt_output_close(struct mt_output *out)
{
    if (out->fd >= 0 && is_ours(out))
        close(out->fd);
    out->fd = -1;
}
