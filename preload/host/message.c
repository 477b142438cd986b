/* SPDX-License-Identifier: Apache-2.0 */
#include "message.h"
#include "no-cancel.h"
#include "trace-format/safe-text.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Where stderr is a pipe that nobody reads, the SIGPIPE would be the host's. */
static void write_quietly(const char *line, size_t size)
{
    sigset_t pipe_signal, before, pending;
    const struct timespec now = {0, 0};
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    if (write(STDERR_FILENO, line, size) < 0 && errno == EPIPE && !sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe_signal, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
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
    write_quietly(line, used);
    errno = saved;
}
