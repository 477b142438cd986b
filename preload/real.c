/* SPDX-License-Identifier: Apache-2.0 */
#include "real.h"
#include "hot.h"
#include "loaded.h"
#include "message.h"
#include "no-signals.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

MT_HOT struct mt_real_functions mt_real;

static const struct {
    const char *name, *symbol, *library;
    void **slot;
} hooks[MT_HOOK_COUNT] = {
#define HOOK_ROW(name, symbol, library, result, parameters)                                        \
    [MT_HOOK_##name] = {#name, symbol, library, (void **)(void *)&mt_real.name},
    MT_TORCH_HOOKS(HOOK_ROW)};

MT_UNSANITIZED void *mt_real_dlsym_function(void)
{
    static void *kept;
    void *real = __atomic_load_n(&kept, __ATOMIC_RELAXED);
    if (!real) {
        /* The oldest version, which every C library has: a look-up that fails allocates, and who
         * asks may be an allocator that is just being made. */
        real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
        __atomic_store_n(&kept, real, __ATOMIC_RELAXED);
    }
    return real;
}

void *mt_real_dlsym(void *handle, const char *symbol)
{
    void *(*real)(void *, const char *) = (void *(*)(void *, const char *))mt_real_dlsym_function();
    void *found = real ? real(handle, symbol) : NULL;
    if (real && !found)
        dlerror(); /* forgets that */
    return found;
}

/* dlsym(RTLD_NEXT) does not see libraries that Python loaded RTLD_LOCAL; a handle does. */
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
    return found; /* and the reference that NOLOAD took: what is found must not go away */
}

int mt_are_of_one_library(const void *a, const void *b)
{
    Dl_info of_a, of_b;
    return dladdr(a, &of_a) && dladdr(b, &of_b) && of_a.dli_fbase == of_b.dli_fbase;
}

int mt_is_ours(const void *address)
{
    return mt_are_of_one_library(address, &mt_real);
}

/* The paths of all loaded libraries, each ended by a NUL, an empty one last. */
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

/* Another preloaded library may stand in front of PyTorch's function, as the simulator does. */
static void *find_torch(const char *symbol, const char *library)
{
    void *next = mt_real_dlsym(RTLD_NEXT, symbol);
    return next ? next : find_in(symbol, library);
}

/* Two steps, since dlopen inside dl_iterate_phdr takes the loader's two locks in the wrong order.
 */
static void *find_anywhere(const char *symbol)
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
    MT_NO_SIGNALS();
    void *found = library ? find_in(symbol, library) : NULL;
    if (found && !mt_is_ours(found))
        return found;
    return find_anywhere(symbol);
}

static int is_resolved(enum mt_hook hook)
{
    return __atomic_load_n(hooks[hook].slot, __ATOMIC_RELAXED) != NULL;
}

static void keep(enum mt_hook hook, void *found)
{
    __atomic_store_n(hooks[hook].slot, found, __ATOMIC_RELAXED);
}

/* As by the loader, for a function that nobody has. */
static void end_program(const char *symbol)
{
    mt_message("no loaded library defines %s, which the program calls", symbol);
    syscall(SYS_exit_group, 127); /* _exit is ours */
}

/* The first hook is mostly called outside of PyTorch's allocator; the others are looked up with it,
 * so that none has to take the loader's lock under the allocator's. */
void mt_resolve(enum mt_hook hook)
{
    MT_NO_SIGNALS();
    for (enum mt_hook i = 0; i < MT_HOOK_COUNT; i++)
        if (!is_resolved(i))
            keep(i, find_torch(hooks[i].symbol, hooks[i].library));
    if (is_resolved(hook))
        return;
    keep(hook, find_anywhere(hooks[hook].symbol));
    if (!is_resolved(hook))
        end_program(hooks[hook].symbol);
}

void *mt_find_of_release(void **slot, const char *symbol, const char *library)
{
    void *real = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if (__builtin_expect(real != NULL, 1))
        return real;
    real = mt_find_real(symbol, library);
    if (!real)
        end_program(symbol);
    __atomic_store_n(slot, real, __ATOMIC_RELAXED);
    return real;
}

int mt_missing_in_torch(char *missing, size_t size)
{
    if (!is_resolved(MT_HOOK_report_memory))
        return 0;
    size_t used = 0;
    *missing = '\0';
    for (enum mt_hook i = 0; i < MT_HOOK_COUNT; i++) {
        if (is_resolved(i))
            continue;
        int n = snprintf(missing + used, size - used, " %s", hooks[i].name);
        used += n > 0 && (size_t)n < size - used ? (size_t)n : 0;
    }
    return 1;
}
