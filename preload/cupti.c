/* SPDX-License-Identifier: Apache-2.0 */
#include "cupti.h"
#include "message.h"
#include "objects.h"
#include "real.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From libmemtap.so's folder: installed, and as it is built. */
static const char *const places[] = {"libmemtap-cupti.so", "../cupti/libmemtap-cupti.so"};
#define INJECTION "CUDA_INJECTION64_PATH"

static struct {
    pthread_mutex_t lock; /* of opening and stepping back */
    mt_cupti_stop_function *stop;
    unsigned subscriptions;
    char status[MT_CUPTI_STATUS];
} cupti = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int is_hooked(void)
{
    return mt_cuda_depth;
}

static void tell(unsigned subscription)
{
    mt_cuda_told = subscription;
}

static const struct mt_cupti_recorder recorder = {
    .allocated = mt_cuda_allocated,
    .allocated_async = mt_cuda_allocated_async,
    .freeing = mt_cuda_freeing,
    .freeing_async = mt_cuda_freeing_async,
    .freed = mt_cuda_freed,
    .mapped = mt_cuda_mapped,
    .unmapping = mt_cuda_unmapping,
    .object_made = mt_cuda_object_made,
    .object_ending = mt_cuda_object_ending,
    .is_hooked = is_hooked,
    .tell = tell,
};

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(cupti.status, sizeof cupti.status, format, args);
    va_end(args);
}

static int is_wish(const char *wish)
{
    const char *value = getenv("MEMTAP_CUPTI");
    return value && !strcmp(value, wish);
}

/* A file beside libmemtap.so, or it itself where name is NULL: 0, or -ENOENT. */
static int own_path(char out[PATH_MAX], const char *name)
{
    Dl_info info;
    if (!dladdr((const void *)&recorder, &info) || !realpath(info.dli_fname, out))
        return -ENOENT;
    char *slash = strrchr(out, '/') + 1;
    if (name && (size_t)snprintf(slash, (size_t)(out + PATH_MAX - slash), "%s", name) >=
                    (size_t)(out + PATH_MAX - slash))
        return -ENOENT;
    return 0;
}

/* Whether programs' calls come to our hooks at all. */
static int is_preloaded(void)
{
    void *found = mt_real_dlsym(RTLD_DEFAULT, "InitializeInjection");
    return found && mt_is_ours(found) && mt_is_ours(mt_real_dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
}

/* Who is about to use the driver is linked to it or to the runtime, or has looked its functions up
 * before: where none of it is so, it came by a way that we do not stand in. */
static int see_hooks(int was_looked_up)
{
    return is_preloaded() &&
           (was_looked_up || mt_objects_need("libcuda.so.") || mt_objects_need("libcudart.so."));
}

static void *load_module(void)
{
    char path[PATH_MAX];
    void *module = NULL;
    for (size_t i = 0; !module && i < sizeof places / sizeof *places; i++)
        if (!own_path(path, places[i]))
            module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return module;
}

static void start(void)
{
    char why[MT_CUPTI_STATUS] = "";
    void *module = load_module();
    mt_cupti_start_function *begin;
    *(void **)&begin = module ? mt_real_dlsym(module, MT_CUPTI_START) : NULL;
    *(void **)&cupti.stop = module ? mt_real_dlsym(module, MT_CUPTI_STOP) : NULL;
    if (!begin || !cupti.stop) {
        say("not used: there is no %s beside libmemtap.so", places[0]);
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

void mt_cupti_open(int was_looked_up)
{
    int is_on = is_wish("on");
    pthread_mutex_lock(&cupti.lock);
    if (is_wish("off"))
        say("off");
    else if (!is_on && see_hooks(was_looked_up))
        say("not needed");
    else if (!is_on && mt_objects_need("libcupti.so."))
        say("not used: the program has loaded it for itself");
    else if (!cupti.stop)
        start();
    pthread_mutex_unlock(&cupti.lock);
    if (strncmp(cupti.status, "not used", 8) == 0 && (is_on || !is_preloaded()))
        mt_message("CUPTI is %s", cupti.status);
}

void mt_cupti_step_back(void)
{
    pthread_mutex_lock(&cupti.lock);
    if (cupti.stop) {
        atomic_store(&mt_cuda_subscription, 0);
        cupti.stop();
        cupti.stop = NULL;
        say("used until another client asked for it");
    }
    pthread_mutex_unlock(&cupti.lock);
}

const char *mt_cupti_status(void)
{
    const char *injected = getenv(INJECTION);
    if (*cupti.status)
        return cupti.status;
    if (is_wish("off"))
        return "off";
    if (!is_wish("on"))
        return "not needed";
    if (injected && *injected)
        say("not used: " INJECTION " is %.160s", injected);
    else
        say("not used: CUDA did not load it");
    return cupti.status;
}

void mt_cupti_reset(void)
{
    memset(&cupti, 0, sizeof cupti);
    pthread_mutex_init(&cupti.lock, NULL);
    atomic_store(&mt_cuda_subscription, 0);
    mt_cuda_told = 0;
}

/* The driver loads us as its tool when it is initialized, unless it is to load another one. */
__attribute__((constructor)) static void ask_for_injection(void)
{
    char path[PATH_MAX];
    if (is_wish("on") && !own_path(path, NULL))
        setenv(INJECTION, path, 0);
}
