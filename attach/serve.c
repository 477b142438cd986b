/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that attaches and detaches. The program's thread that was interrupted for it only
 * creates it. */
#include "attach.h"
#include "preload/include/memtap.h"
#include "trace-format/settings/attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 1u
#endif
#define STACK ((size_t)1 << 20)
#define MXCSR_DEFAULT 0x1f80u

static _Atomic pid_t busy; /* the process in which the thread runs; a forked child has none */
static void *library;      /* libmemtap.so; never closed */
static bool is_attached;

/* --- work ----------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static int fail(struct mt_attach_page *page,
                                                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(page->text, sizeof page->text, format, args);
    va_end(args);
    return -1;
}

static void *function(const char *name)
{
    return dlsym(library, name);
}

static int load(struct mt_attach_page *page)
{
    if (library)
        return 0;
    library = dlopen(page->library, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fail(page, "its loader refuses %s", dlerror());
    return 0;
}

static int attach(struct mt_attach_page *page)
{
    size_t (*trace)(char *, size_t);
    void (*start)(unsigned, unsigned);
    if (is_attached)
        return fail(page, "it is attached already; detach first");
    mt_attach_set_settings(page->settings);
    if (load(page))
        return -1;
    *(void **)&trace = function("memtap_trace");
    *(void **)&start = function("memtap_start_for");
    if (!trace || !start)
        return fail(page, "%s is of another version", page->library);
    mt_slots_choose(library);
    if (mt_slots_set(true, &page->slots))
        return fail(page, "its loader does not load libmemtap-under-lock.so");
    is_attached = true;
    start(page->seconds, page->iterations);
    if (!trace(page->text, sizeof page->text)) {
        mt_slots_set(false, &page->slots);
        is_attached = false;
        return fail(page, "its trace could not be created; it prints why");
    }
    /* A thread that looked a function up meanwhile may have set its slot after us. */
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    mt_slots_set(true, &(uint32_t){0});
    return 0;
}

static int detach(struct mt_attach_page *page)
{
    size_t (*trace)(char *, size_t);
    void (*stop)(void);
    if (!is_attached)
        return fail(page, "it is not attached");
    *(void **)&trace = function("memtap_trace");
    *(void **)&stop = function("memtap_stop");
    if (mt_slots_set(false, &page->slots))
        return fail(page, "its loader does not load libmemtap-under-lock.so");
    is_attached = false;
    if (!trace(page->text, sizeof page->text))
        *page->text = '\0';
    stop();
    return 0;
}

/* --- thread ---------------------------------------------------------------------------------- */

static void wait_for_request(struct mt_attach_page *page)
{
    uint32_t state;
    time_t end = time(NULL) + MT_ATTACH_WAIT_S;
    while ((state = atomic_load(&page->state)) != MT_ATTACH_REQUESTED) {
        uint32_t ready = MT_ATTACH_READY;
        if (time(NULL) >= end &&
            atomic_compare_exchange_strong(&page->state, &ready, MT_ATTACH_FAILED))
            return;
        syscall(SYS_futex, &page->state, FUTEX_WAIT, state, &(struct timespec){1, 0}, NULL, 0);
    }
}

static void serve(struct mt_attach_page *page)
{
    static pthread_mutex_t working = PTHREAD_MUTEX_INITIALIZER;
    wait_for_request(page);
    if (atomic_load(&page->state) != MT_ATTACH_REQUESTED) {
        atomic_store(&busy, 0);
        return;
    }
    pthread_mutex_lock(&working);
    int rc = page->is_detach ? detach(page) : attach(page);
    pthread_mutex_unlock(&working);
    atomic_store(&busy, 0); /* the next command may come at once */
    atomic_store(&page->state, rc ? MT_ATTACH_FAILED : MT_ATTACH_DONE);
    syscall(SYS_futex, &page->state, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void *run(void *unused)
{
    /* The program's thread may have enabled exceptions, which are not for this one. */
    __builtin_ia32_ldmxcsr(MXCSR_DEFAULT);
    pthread_setname_np(pthread_self(), "memtap");
    int fd = (int)syscall(SYS_memfd_create, MT_ATTACH_NAME, MFD_CLOEXEC);
    struct mt_attach_page *page = MAP_FAILED;
    if (fd >= 0 && !ftruncate(fd, sizeof *page))
        page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        atomic_store(&busy, 0);
    } else {
        page->pid = (uint32_t)getpid();
        page->version = MT_ATTACH_VERSION;
        serve(page);
        munmap(page, sizeof *page);
    }
    if (fd >= 0)
        close(fd);
    return unused;
}

void memtap_attach_serve(void)
{
    int saved = errno;
    pid_t here = getpid(), before = atomic_load(&busy);
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, mask;
    if (before == here || !atomic_compare_exchange_strong(&busy, &before, here))
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    int rc = pthread_attr_init(&attributes);
    if (!rc) {
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&attributes, STACK);
        rc = pthread_create(&thread, &attributes, run, NULL);
        pthread_attr_destroy(&attributes);
    }
    if (rc)
        atomic_store(&busy, 0);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    errno = saved;
}

__attribute__((constructor)) static void begin(void)
{
    memtap_attach_serve();
}
