/* SPDX-License-Identifier: Apache-2.0 */
/* Look up the real functions behind our hooks. Any thread. */
#ifndef MT_PRELOAD_FIND_REAL_H
#define MT_PRELOAD_FIND_REAL_H

#include <stdbool.h>
#include <stddef.h>

/* Sanitizers look functions up before their own memory is mapped. */
#define MT_UNSANITIZED                                                                             \
    __attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))

/* Call the real dlsym, which is hooked, too. With RTLD_NEXT, it searches after libmemtap.so. A
 * failure does not change the program's dlerror. */
void *mt_real_dlsym(void *handle, const char *symbol);
void *mt_real_dlsym_function(void);

bool mt_are_of_one_library(const void *a, const void *b);

/* Return the next function after libmemtap.so, else the library's, or NULL. Another preloaded
 * library may replace functions of `library`, as the simulator does. */
void *mt_find_next(const char *symbol, const char *library);

/* Return the function of any loaded library but this one, or NULL. */
void *mt_find_anywhere(const char *symbol);

/* Report that no library has the function and end the process, as the loader does. */
void mt_end_without(const char *symbol);

/* Return whether an address lies in libmemtap.so. */
bool mt_is_ours(const void *address);

/* Return a function or object of a loaded library (never this one), searching `library` first if it
 * is not NULL; NULL if it is not found. Loads nothing. Takes the loader's lock. */
void *mt_find_real(const char *symbol, const char *library);

/* For a hook whose function only some releases have, and whose callers are linked to it:
 * real_name() finds it at first use and caches it, as MT_REAL does. */
#define MT_REAL_OF_ONE_RELEASE(name, symbol, library, result, parameters)                          \
    static result(*real_##name(void)) parameters                                                   \
    {                                                                                              \
        static void *_Atomic slot;                                                                 \
        return (result(*) parameters)mt_find_of_release(&slot, symbol, library);                   \
    }

void *mt_find_of_release(void *_Atomic *slot, const char *symbol, const char *library);

#endif
