/* SPDX-License-Identifier: Apache-2.0 */
#include "switch.h"
#include "preload/host/message.h"
#include "preload/host/own-file.h"
#include "preload/host/settings.h"
#include "recorder.h"
#include "trace-format/settings/switch.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 1u
#endif

static struct {
    struct mt_switch *_Atomic page; /* NULL: none */
    _Atomic uint32_t taken;
    int fd;
    ino_t inode;
    struct mt_switch_request limit;
} own;

/* Write the folder of the trace. A name for each process or program in it stays as it is. */
static void put_folder(char out[PATH_MAX])
{
    const char *pattern = mt_settings.output, *slash = strrchr(pattern, '/');
    int n = slash ? (int)(slash - pattern) : 0;
    size_t used = 0;
    if (*pattern != '/' && getcwd(out, PATH_MAX))
        used = strlen(out);
    snprintf(out + used, PATH_MAX - used, "%s%.*s", used && n ? "/" : "", n, pattern);
}

static struct mt_switch *map(int fd)
{
    struct stat status;
    if (fd < 0 || ftruncate(fd, sizeof(struct mt_switch)) || fstat(fd, &status))
        return NULL;
    own.inode = status.st_ino;
    void *page = mmap(NULL, sizeof(struct mt_switch), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return page == MAP_FAILED ? NULL : page;
}

void mt_switch_make(void)
{
    if (own.page)
        return;
    int fd = (int)syscall(SYS_memfd_create, MT_SWITCH_NAME, MFD_CLOEXEC);
    own.fd = fd < 0 ? fd : mt_own_fd_move(fd);
    struct mt_switch *page = map(own.fd);
    if (!page) {
        mt_message("memtap start will not find this process: %s", strerror(errno));
        if (own.fd >= 0)
            close(own.fd);
        return;
    }
    page->pid = (uint32_t)getpid();
    put_folder(page->folder);
    page->version = MT_SWITCH_VERSION;
    own.page = page;
}

bool mt_switch_is_on(void)
{
    const struct mt_switch *page = atomic_load_explicit(&own.page, memory_order_acquire);
    return page && atomic_load_explicit(&page->wanted, memory_order_acquire) !=
                       atomic_load_explicit(&own.taken, memory_order_relaxed);
}

struct mt_switch_request mt_switch_take(void)
{
    struct mt_switch *page = own.page;
    if (!mt_switch_is_on())
        return own.limit;
    atomic_store(&own.taken, atomic_load(&page->wanted));
    return (struct mt_switch_request){page->seconds, page->iterations};
}

void mt_switch_limit(uint32_t seconds, uint32_t iterations)
{
    own.limit = (struct mt_switch_request){seconds, iterations};
}

void mt_switch_answer(const char *trace)
{
    struct mt_switch *page = own.page;
    own.limit = (struct mt_switch_request){0, 0};
    if (!page)
        return;
    if (trace)
        snprintf(page->trace, sizeof page->trace, "%s", trace);
    else
        atomic_store(&own.taken, atomic_load(&page->wanted));
    atomic_store(&page->is_recording, trace && *trace);
    atomic_store(&page->answered, atomic_load(&own.taken));
}

void mt_switch_reset(void)
{
    struct stat status;
    if (!own.page)
        return;
    munmap(own.page, sizeof *own.page);
    if (!fstat(own.fd, &status) && status.st_ino == own.inode)
        close(own.fd);
    memset(&own, 0, sizeof own);
}

bool mt_switch_will_rest(void)
{
    int recording = MT_RECORDING;
    return atomic_compare_exchange_strong(&mt_state, &recording, MT_RESTING);
}

void mt_switch_has_rested(void)
{
    int resting = MT_RESTING;
    mt_switch_make();
    mt_switch_answer(NULL);
    atomic_compare_exchange_strong(&mt_state, &resting, MT_DORMANT);
}
