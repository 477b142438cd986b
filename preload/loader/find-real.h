/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up the real functions behind our hooks, past the hooks themselves. Any thread. */
#ifndef MT_PRELOAD_FIND_REAL_H
#define MT_PRELOAD_FIND_REAL_H

#include <stdbool.h>
#include <stddef.h>

/* Sanitizers look functions up before their own memory is there. */
#define MT_UNSANITIZED                                                                             \
    __attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))

/* dlsym, which is a hook, too: what we look up ourselves is to be the real thing. With RTLD_NEXT,
 * what comes after libmemtap.so. That nothing is found, the program's dlerror does not tell. */
void *mt_real_dlsym(void *handle, const char *symbol);
void *mt_real_dlsym_function(void);

bool mt_are_of_one_library(const void *a, const void *b);

/* Another preloaded library may stand in front of a function of `library`, as the simulator does:
 * the next one after libmemtap.so, else the library's; NULL: neither has it. */
void *mt_find_next(const char *symbol, const char *library);

/* One that any loaded library but this defines; NULL: none does. */
void *mt_find_anywhere(const char *symbol);

/* As the loader does for a function that nobody has: says so and ends the process. */
void mt_end_without(const char *symbol);

/* Whether an address lies in libmemtap.so. */
bool mt_is_ours(const void *address);

/* A function or object that a loaded library (never this one) defines, looked for in `library`
 * first (NULL: nowhere first); NULL: there is none. Loads nothing. Takes the loader's lock. */
void *mt_find_real(const char *symbol, const char *library);

/* For a hook that not all releases have the function of, whose callers are linked to it: as
 * MT_REAL, real_name() is found at first need and kept. */
#define MT_REAL_OF_ONE_RELEASE(name, symbol, library, result, parameters)                          \
    static result(*real_##name(void)) parameters                                                   \
    {                                                                                              \
        static void *_Atomic slot;                                                                 \
        return (result(*) parameters)mt_find_of_release(&slot, symbol, library);                   \
    }

void *mt_find_of_release(void *_Atomic *slot, const char *symbol, const char *library);

#endif
