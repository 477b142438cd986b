/* SPDX-License-Identifier: Apache-2.0 */
/* Replace the function that frees the objects of a Python type, a word in the type. */
#ifndef MT_PRELOAD_TYPE_DEALLOC_H
#define MT_PRELOAD_TYPE_DEALLOC_H

#include "preload/host/safe-read.h"

#include <errno.h>
#include <stdatomic.h>

#define MT_TYPE_DEALLOC 48 /* bytes: PyTypeObject.tp_dealloc, in all versions */

typedef void mt_dealloc(void *object);

/* Install ours once, also for forked children. *real, NULL at first, gets the function that ours
 * must call. Return 0, or -EFAULT if the type's memory is read-only. */
static inline int mt_dealloc_replace(const void *type, mt_dealloc *ours, mt_dealloc **real)
{
    mt_dealloc *_Atomic *slot = (void *)((uintptr_t)type + MT_TYPE_DEALLOC);
    if (*real)
        return 0;
    mt_dealloc *found = type ? atomic_load(slot) : NULL;
    if (!found || mt_safe_write(slot, &found, sizeof found))
        return -EFAULT;
    *real = found;
    atomic_store(slot, ours);
    return 0;
}

#endif
