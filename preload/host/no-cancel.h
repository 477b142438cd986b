/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that is to be cancelled ends in the next call that may wait, and no function of CUDA's
 * or PyTorch's allocator is known to be one: it may hold their locks, and ours. */
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

/* A declaration: the thread is not cancelled up to the end of the block. */
#define MT_NO_CANCEL()                                                                             \
    __attribute__((cleanup(mt_cancel_restore), unused)) const int cancel_before_ =                 \
        mt_cancel_disable()

#endif
