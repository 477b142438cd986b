/* SPDX-License-Identifier: Apache-2.0 */
/* A cancelled thread ends in its next call that may wait. Callers of CUDA and of PyTorch's
 * allocator do not expect that there: the thread may hold their locks, and ours. */
#ifndef MT_PRELOAD_NO_CANCEL_H
#define MT_PRELOAD_NO_CANCEL_H

#include <pthread.h>

static inline int mt_cancel_disable(void)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void mt_cancel_restore(const int *before)
{
    pthread_setcancelstate(*before, NULL);
}

/* A declaration: the thread cannot be cancelled up to the end of the block. */
#define MT_NO_CANCEL()                                                                             \
    __attribute__((cleanup(mt_cancel_restore), unused)) const int cancel_before_ =                 \
        mt_cancel_disable()

#endif
