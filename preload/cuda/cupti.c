/* SPDX-License-Identifier: Apache-2.0 */
#include "cupti.h"
#include "multicast.h"
#include "preload/host/message.h"
#include "preload/loader/find-real.h"
#include "preload/loader/images.h"
#include "preload/loader/loaded.h"
#include "preload/record/lock.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Environment variables that name the tools of CUDA and NVTX. They are set when we are loaded,
 * because other threads may read the environment later. One that names another tool is kept.
 */

#define MT_CUDA_INJECTION "CUDA_INJECTION64_PATH"
#define MT_NVTX_INJECTION "NVTX_INJECTION64_PATH"

/* Write the path of a file next to libmemtap.so, or its own if name is NULL. Return 0 or -ENOENT.
 */
static int own_path(char out[PATH_MAX], const char *name)
{
    static const char here;
    Dl_info info;
    if (!dladdr(&here, &info) || !realpath(info.dli_fname, out))
        return -ENOENT;
    char *slash = strrchr(out, '/') + 1;
    if (name && (size_t)snprintf(slash, (size_t)(out + PATH_MAX - slash), "%s", name) >=
                    (size_t)(out + PATH_MAX - slash))
        return -ENOENT;
    return 0;
}

/* Return 1 for us, -1 for the C library: preloaded libraries come before it in the loader's list,
 * and what the driver loads comes after it. */
static int find_first(struct dl_phdr_info *info, size_t size, void *here)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            (uintptr_t)here - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr <
                info->dlpi_phdr[i].p_memsz)
            return 1;
    return slash && !strcmp(slash, "/libc.so.6") ? -1 : 0;
}

/* Return whether we were preloaded, so that programs' calls come to our hooks. */
static bool is_preloaded(void)
{
    static char here;
    return mt_loaded_each(find_first, &here) == 1 &&
           mt_is_ours(mt_real_dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
}

/* What the environment said then. */
static struct {
    bool is_on, is_off;
    char other[161]; /* CUDA's tool */
} wish;

static void read_wish(void)
{
    const char *value = getenv("MEMTAP_CUPTI"), *other = getenv(MT_CUDA_INJECTION);
    wish.is_on = value && !strcmp(value, "on");
    wish.is_off = value && !strcmp(value, "off");
    snprintf(wish.other, sizeof wish.other, "%s", other ? other : "");
}

/* Request the injection now: CUDA's driver loads its tool when it is initialized, NVTX at the first
 * range. */
__attribute__((constructor)) static void request_injection(void)
{
    char path[PATH_MAX];
    read_wish();
    bool wants_cuda = wish.is_on && !getenv(MT_CUDA_INJECTION);
    bool wants_nvtx = !getenv(MT_NVTX_INJECTION) && is_preloaded();
    if ((!wants_cuda && !wants_nvtx) || own_path(path, NULL))
        return;
    if (wants_cuda)
        setenv(MT_CUDA_INJECTION, path, 0);
    if (wants_nvtx)
        setenv(MT_NVTX_INJECTION, path, 0);
}

/* Relative to libmemtap.so's folder: as installed, and as built. */
static const char *const paths[] = {"libmemtap-cupti.so", "../cupti/libmemtap-cupti.so"};

#define OPEN_WAIT_NS 10000000000u

static struct {
    pthread_mutex_t lock; /* for opening and stepping back */
    mt_cupti_stop_function *stop;
    unsigned subscriptions;
    char status[MT_CUPTI_STATUS];
} cupti = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_hooked(void)
{
    return mt_cuda_is_inside();
}

static void note_subscription(unsigned subscription)
{
    mt_cuda_reported = subscription;
}

static const struct mt_cupti_recorder recorder = {
    .allocated = mt_cuda_allocated,
    .allocated_async = mt_cuda_allocated_async,
    .freeing = mt_cuda_freeing,
    .freeing_async = mt_cuda_freeing_async,
    .freed = mt_cuda_freed,
    .mapped = mt_cuda_mapped,
    .unmapping = mt_cuda_unmapping,
    .bound = mt_cuda_bound,
    .unbinding = mt_cuda_unbinding,
    .object_made = mt_cuda_object_made,
    .object_ending = mt_cuda_object_ending,
    .is_hooked = is_hooked,
    .report = note_subscription,
};

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(cupti.status, sizeof cupti.status, format, args);
    va_end(args);
}

/* Return whether our hooks see the program's calls: its images are linked to the driver or the
 * runtime, or it has looked functions up through us. Otherwise it found the driver in a way that we
 * do not intercept. */
static bool do_hooks_reach(bool was_looked_up)
{
    return is_preloaded() &&
           (was_looked_up || mt_images_need("libcuda.so.") || mt_images_need("libcudart.so."));
}

static void *load_library(void)
{
    char path[PATH_MAX];
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof paths / sizeof *paths; i++)
        if (!own_path(path, paths[i]))
            library = mt_loaded_open(path, RTLD_NOW | RTLD_LOCAL);
    return library;
}

static void start(void)
{
    char why[MT_CUPTI_STATUS] = "";
    void *library = load_library();
    mt_cupti_start_function *begin;
    *(void **)&begin = library ? mt_real_dlsym(library, MT_CUPTI_START) : NULL;
    *(void **)&cupti.stop = library ? mt_real_dlsym(library, MT_CUPTI_STOP) : NULL;
    if (!begin || !cupti.stop) {
        say(mt_loader_is_broken() ? "not used: forked while a library was loaded"
                                  : "not used: no %s next to libmemtap.so",
            paths[0]);
        cupti.stop = NULL;
        return;
    }
    unsigned subscription = ++cupti.subscriptions;
    atomic_store(&mt_cuda_subscription, subscription);
    int rc = begin(&recorder, subscription, why);
    if (!rc) {
        say("used");
        return;
    }
    atomic_store(&mt_cuda_subscription, 0);
    cupti.stop = NULL;
    say("not used: %s", why);
}

void mt_cupti_open(bool was_looked_up)
{
    if (!mt_mutex_within(&cupti.lock, OPEN_WAIT_NS))
        return; /* another thread opens it, which takes long */
    if (wish.is_off)
        say("off");
    else if (!wish.is_on && do_hooks_reach(was_looked_up))
        say("not needed");
    else if (!wish.is_on && mt_images_need("libcupti.so."))
        say("not used: the program uses it itself");
    else if (!cupti.stop)
        start();
    pthread_mutex_unlock(&cupti.lock);
    if (strncmp(cupti.status, "not used", 8) == 0 && (wish.is_on || !is_preloaded()))
        mt_message("CUPTI is %s%s", cupti.status,
                   is_preloaded() ? ""
                                  : "; CUDA calls are not recorded; preload memtap "
                                    "(LD_PRELOAD=$(memtap lib)), or see CUPTI in man libmemtap");
}

void mt_cupti_step_back(void)
{
    if (!mt_mutex_within(&cupti.lock, OPEN_WAIT_NS))
        return;
    if (cupti.stop) {
        atomic_store(&mt_cuda_subscription, 0);
        cupti.stop();
        cupti.stop = NULL;
        say("used until another client requested it");
    }
    pthread_mutex_unlock(&cupti.lock);
}

const char *mt_cupti_status(void)
{
    if (*cupti.status)
        return cupti.status;
    if (wish.is_off)
        return "off";
    if (!wish.is_on)
        return "not needed";
    if (*wish.other)
        say("not used: " MT_CUDA_INJECTION " is %s", wish.other);
    else
        say("not used: CUDA did not load it");
    return cupti.status;
}

void mt_cupti_reset(void)
{
    memset(&cupti, 0, sizeof cupti);
    pthread_mutex_init(&cupti.lock, NULL);
    atomic_store(&mt_cuda_subscription, 0);
    mt_cuda_reported = 0;
}
