/* SPDX-License-Identifier: Apache-2.0 */
#include "find-real.h"
#include "loaded.h"
#include "preload/host/message.h"
#include "preload/host/no-signals.h"
#include "trace-format/likely.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

MT_UNSANITIZED void *mt_real_dlsym_function(void)
{
    static void *_Atomic kept;
    void *real = atomic_load_explicit(&kept, memory_order_relaxed);
    if (!real) {
        /* The oldest version, which every C library has: a failing lookup allocates, and the caller
         * may be an allocator that is being initialized. */
        real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
        atomic_store_explicit(&kept, real, memory_order_relaxed);
    }
    return real;
}

void *mt_real_dlsym(void *handle, const char *symbol)
{
    void *(*real)(void *, const char *) = (void *(*)(void *, const char *))mt_real_dlsym_function();
    void *found = real ? real(handle, symbol) : NULL;
    if (real && !found)
        dlerror(); /* clears the error */
    return found;
}

/* Find a symbol by a handle: dlsym(RTLD_NEXT) does not see libraries that Python loaded RTLD_LOCAL.
 * Keep the handle: the library must stay loaded. */
static void *find_in(const char *symbol, const char *library)
{
    if (mt_loader_is_broken())
        return mt_loaded_symbol(mt_loaded_find(library), symbol);
    void *handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
    if (!handle)
        return NULL;
    void *found = mt_real_dlsym(handle, symbol);
    if (!found)
        dlclose(handle);
    return found; /* keeps NOLOAD's reference */
}

bool mt_are_of_one_library(const void *a, const void *b)
{
    Dl_info of_a, of_b;
    return dladdr(a, &of_a) && dladdr(b, &of_b) && of_a.dli_fbase == of_b.dli_fbase;
}

static const char ours = 0; /* an object in libmemtap.so */

bool mt_is_ours(const void *address)
{
    return mt_are_of_one_library(address, &ours);
}

/* The paths of all loaded libraries, each terminated by a NUL, an empty one last. */
struct paths {
    char *text;
    size_t used, capacity;
};

static int collect_path(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    struct paths *paths = data;
    size_t length = strlen(info->dlpi_name) + 1;
    if (length == 1 || paths->used + length + 1 > paths->capacity)
        return 0;
    memcpy(paths->text + paths->used, info->dlpi_name, length);
    paths->used += length;
    return 0;
}

void *mt_find_next(const char *symbol, const char *library)
{
    void *next = mt_real_dlsym(RTLD_NEXT, symbol);
    return next ? next : find_in(symbol, library);
}

/* Search in two steps, because dlopen inside dl_iterate_phdr takes the loader's two locks in the
 * wrong order. */
void *mt_find_anywhere(const char *symbol)
{
    struct paths paths = {.capacity = 1 << 18};
    paths.text = calloc(1, paths.capacity);
    if (!paths.text)
        return NULL;
    mt_loaded_each(collect_path, &paths);
    void *found = NULL;
    for (const char *path = paths.text; *path && !found; path += strlen(path) + 1) {
        found = find_in(symbol, path);
        if (found && mt_is_ours(found))
            found = NULL;
    }
    free(paths.text);
    return found;
}

void *mt_find_real(const char *symbol, const char *library)
{
    MT_UNINTERRUPTED();
    void *found = library ? find_in(symbol, library) : NULL;
    if (found && !mt_is_ours(found))
        return found;
    return mt_find_anywhere(symbol);
}

void mt_end_without(const char *symbol)
{
    mt_message("no loaded library defines %s, which the program calls", symbol);
    syscall(SYS_exit_group, 127); /* _exit is ours */
}

void *mt_find_of_release(void *_Atomic *slot, const char *symbol, const char *library)
{
    void *real = atomic_load_explicit(slot, memory_order_relaxed);
    if (MT_LIKELY(real))
        return real;
    real = mt_find_real(symbol, library);
    if (!real)
        mt_end_without(symbol);
    atomic_store_explicit(slot, real, memory_order_relaxed);
    return real;
}
