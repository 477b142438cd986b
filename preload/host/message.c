/* SPDX-License-Identifier: Apache-2.0 */
#include "message.h"
#include "no-signals.h"
#include "own-thread.h"
#include "trace-format/safe-text.h"
#include "trace-format/settings/table.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Standard error as it was when this library was loaded, or a terminal, a pipe or a log that
 * replaced it. The descriptor may have been reused for a file of the program, such as a checkpoint,
 * above all if it was closed at first. */
static struct stat standard_error;
static bool has_standard_error;

__attribute__((constructor)) static void find_standard_error(void)
{
    has_standard_error = !fstat(STDERR_FILENO, &standard_error);
}

static bool is_log(void)
{
    int flags = fcntl(STDERR_FILENO, F_GETFL);
    return flags >= 0 && flags & O_APPEND;
}

static bool is_standard_error(void)
{
    struct stat now;
    return has_standard_error && !fstat(STDERR_FILENO, &now) &&
           (S_ISFIFO(now.st_mode) || isatty(STDERR_FILENO) || is_log() ||
            (now.st_dev == standard_error.st_dev && now.st_ino == standard_error.st_ino));
}

void mt_message(const char *format, ...)
{
    MT_NO_CANCEL();
    static const char prefix[] = "memtap: ";
    char line[1024];
    int saved = errno;
    size_t used = sizeof prefix - 1;
    __builtin_memcpy(line, prefix, used);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line + used, sizeof line - used - 1, format, args);
    va_end(args);
    if (n > 0)
        used += (size_t)n < sizeof line - used - 1 ? (size_t)n : sizeof line - used - 2;
    line[used] = '\0';
    mt_safe_in_place(line, 1);
    used = strlen(line);
    line[used++] = '\n';
    if (!mt_own_threads_are_restricted && is_standard_error()) {
        ssize_t written = mt_write_quietly(STDERR_FILENO, line, used);
        (void)written; /* there is nowhere to report it */
    }
    errno = saved;
}

ssize_t mt_write_quietly(int fd, const void *bytes, size_t size)
{
    const uint64_t ours = MT_SIGNAL(SIGPIPE) | MT_SIGNAL(SIGXFSZ);
    const struct timespec now = {0, 0};
    sigset_t pending, one;
    uint64_t before;
    sigpending(&pending);
    mt_signals_mask(SIG_BLOCK, &ours, &before);
    ssize_t written = write(fd, bytes, size);
    int error = errno, sent = error == EPIPE ? SIGPIPE : SIGXFSZ;
    if (written < 0 && (error == EPIPE || error == EFBIG) && !sigismember(&pending, sent)) {
        sigemptyset(&one);
        sigaddset(&one, sent);
        sigtimedwait(&one, NULL, &now);
    }
    mt_signals_mask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}

static int open_manifest(const char *manifest)
{
    return open(manifest, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

int mt_manifest_open_early(void)
{
    const char *manifest = getenv(mt_setting_table[MT_ID_manifest].variable);
    return manifest && *manifest ? open_manifest(manifest) : -1;
}

/* A failure only costs a message at the end. */
bool mt_manifest_sign_at(int fd, const char *text)
{
    ssize_t size = (ssize_t)strlen(text) + 1,
            written = fd < 0 ? -1 : mt_write_quietly(fd, text, (size_t)size);
    if (fd >= 0)
        close(fd);
    return written == size;
}

bool mt_manifest_sign(const char *manifest, const char *text)
{
    return mt_manifest_sign_at(open_manifest(manifest), text);
}
