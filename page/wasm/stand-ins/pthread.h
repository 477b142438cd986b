/* SPDX-License-Identifier: Apache-2.0 */
/* A page has one thread: none can be started, and locks never wait. */
#ifndef MT_PAGE_PTHREAD_H
#define MT_PAGE_PTHREAD_H

#include <errno.h>
#include <sys/types.h>

#define PTHREAD_MUTEX_INITIALIZER {0}
#define PTHREAD_COND_INITIALIZER {0}
#define PTHREAD_ONCE_INIT 0

static inline int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                                 void *(*start)(void *), void *data)
{
    (void)thread, (void)attr, (void)start, (void)data;
    return EAGAIN;
}

static inline int pthread_join(pthread_t thread, void **result)
{
    (void)thread, (void)result;
    return ESRCH;
}

static inline int pthread_once(pthread_once_t *once, void (*call)(void))
{
    if (!*once) {
        *once = 1;
        call();
    }
    return 0;
}

#define MT_PAGE_NOTHING(name, type)                                                                \
    static inline int name(type *it)                                                               \
    {                                                                                              \
        (void)it;                                                                                  \
        return 0;                                                                                  \
    }
MT_PAGE_NOTHING(pthread_mutex_lock, pthread_mutex_t)
MT_PAGE_NOTHING(pthread_mutex_unlock, pthread_mutex_t)
MT_PAGE_NOTHING(pthread_mutex_destroy, pthread_mutex_t)
MT_PAGE_NOTHING(pthread_cond_signal, pthread_cond_t)
MT_PAGE_NOTHING(pthread_cond_destroy, pthread_cond_t)
#undef MT_PAGE_NOTHING

static inline int pthread_mutex_init(pthread_mutex_t *lock, const void *attr)
{
    (void)lock, (void)attr;
    return 0;
}

static inline int pthread_cond_init(pthread_cond_t *cond, const void *attr)
{
    (void)cond, (void)attr;
    return 0;
}

static inline int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock)
{
    (void)cond, (void)lock;
    return 0;
}

#endif
