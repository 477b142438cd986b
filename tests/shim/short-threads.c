/* SPDX-License-Identifier: Apache-2.0 */
/* short-threads N: N threads, one after the other, allocate once each, and memtap's thread gets to
 * its work after every 64 of them. Then it says what room its trace t has taken beside it, in MiB.
 */
#include "our-thread.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

unsigned cudaMalloc(void **address, size_t size);

static void *allocate(void *unused)
{
    void *address;
    cudaMalloc(&address, 512);
    return unused;
}

int main(int argc, char **argv)
{
    struct stat status = {0};
    unsigned long sleeps = 0;
    for (int n = argc > 1 ? atoi(argv[1]) : 0; n > 0; n--) {
        pthread_t thread;
        if (n % 64 == 0)
            sleeps = wait_for_our_thread("memtap", sleeps + 1);
        if (pthread_create(&thread, NULL, allocate, NULL))
            return 2;
        pthread_join(thread, NULL);
    }
    stat("t.tail", &status);
    printf("%ld\n", (long)(status.st_size >> 20));
    return 0;
}
