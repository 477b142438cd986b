/* SPDX-License-Identifier: Apache-2.0 */
/* stopped-clock N: allocates and frees N times where the C library's time stands still, as
 * libfaketime may make it. A wait that counts on it is ended by SIGALRM; what
 * sleeps by that library, which crashes at the end, is not called. */
#include "calls-of-shim.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MOST_SECONDS 300

unsigned cudaMalloc(void **address, size_t size);
unsigned cudaFree(void *address);

int clock_gettime(clockid_t clock, struct timespec *out)
{
    (void)clock;
    *out = (struct timespec){.tv_sec = 1000000};
    return 0;
}

static void refuse(const void *caller)
{
    if (is_of_shim(caller))
        abort();
}

int usleep(useconds_t us)
{
    REAL(usleep)
    refuse(__builtin_return_address(0));
    return real(us);
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
                           const struct timespec *until)
{
    REAL(pthread_cond_timedwait)
    refuse(__builtin_return_address(0));
    return real(condition, lock, until);
}

int main(int argc, char **argv)
{
    void *address;
    alarm(MOST_SECONDS);
    for (int n = argc > 1 ? atoi(argv[1]) : 0; n > 0; n--) {
        cudaMalloc(&address, 512);
        cudaFree(address);
    }
    return 0;
}
