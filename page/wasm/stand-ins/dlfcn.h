/* SPDX-License-Identifier: Apache-2.0 */
/* A page has no libraries to open. */
#ifndef MT_PAGE_DLFCN_H
#define MT_PAGE_DLFCN_H

#include <stddef.h>

#define RTLD_LAZY 1
#define RTLD_NOW 2
#define RTLD_LOCAL 0

static inline void *dlopen(const char *path, int flags)
{
    (void)path, (void)flags;
    return NULL;
}

static inline void *dlsym(void *library, const char *name)
{
    (void)library, (void)name;
    return NULL;
}

#endif
