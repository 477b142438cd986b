/* SPDX-License-Identifier: Apache-2.0 */
#include "quiet-write.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

ssize_t mt_write_quietly(int fd, const void *bytes, size_t size)
{
    sigset_t ours, before, pending;
    const struct timespec now = {0, 0};
    sigemptyset(&ours);
    sigaddset(&ours, SIGPIPE);
    sigaddset(&ours, SIGXFSZ);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &ours, &before);
    ssize_t written = write(fd, bytes, size);
    int error = errno, sent = error == EPIPE ? SIGPIPE : SIGXFSZ;
    if (written < 0 && (error == EPIPE || error == EFBIG) && !sigismember(&pending, sent)) {
        sigemptyset(&ours);
        sigaddset(&ours, sent);
        sigtimedwait(&ours, NULL, &now);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}
