/* SPDX-License-Identifier: Apache-2.0 */
/* Our own threads. */
#ifndef MT_PRELOAD_OWN_THREAD_H
#define MT_PRELOAD_OWN_THREAD_H

#include <pthread.h>

#define MT_OWN_STACK ((size_t)1 << 20)

/* Start a detached thread with as large a stack as we need: the program's default may be 16 KiB
 * (ulimit -s), or too large for the address space. Return 0 or an error number. */
static inline int mt_own_thread(void *(*run)(void *))
{
    pthread_t thread;
    pthread_attr_t attributes;
    int rc = pthread_attr_init(&attributes);
    if (rc)
        return rc;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, MT_OWN_STACK);
    rc = pthread_create(&thread, &attributes, run, NULL);
    pthread_attr_destroy(&attributes);
    return rc;
}

#endif
