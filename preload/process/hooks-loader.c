/* SPDX-License-Identifier: Apache-2.0 */
/* Check cached facts of native stacks: other code may be loaded at the addresses of unloaded code.
 * Note for memtap run what leaves its sight. */
#include "preload/hooks/hooks.h"
#include "preload/host/message.h"
#include "preload/host/no-cancel.h"
#include "preload/loader/find-real.h"
#include "preload/record/recorder.h"
#include "preload/stacks/native-stack.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int mt_hook_dlclose(void *library)
{
    static int (*_Atomic real)(void *library);
    int (*close)(void *) = atomic_load(&real);
    if (!close) {
        *(void **)&close = mt_real_dlsym(RTLD_NEXT, "dlclose");
        atomic_store(&real, close);
    }
    int result = close(library);
    mt_native_check_images();
    return result;
}

static bool is_idle(void)
{
    return atomic_load(&mt_state) == MT_IDLE;
}

static __attribute__((noinline)) void note_namespace(const char *file)
{
    MT_NO_CANCEL();
    char text[300];
    int saved = errno;
    const char *slash = strrchr(file, '/');
    snprintf(text, sizeof text, "?dlmopen %s", slash ? slash + 1 : file);
    mt_manifest_sign_at(mt_manifest_open_early(), text);
    errno = saved;
}

/* A jump to the real one: the loader searches the caller's own paths. */
void *mt_hook_dlmopen(long space, const char *file, int flags)
{
    static void *(*_Atomic real)(long, const char *, int);
    void *(*load)(long, const char *, int) = atomic_load(&real);
    if (!load) {
        *(void **)&load = mt_real_dlsym(RTLD_NEXT, "dlmopen");
        atomic_store(&real, load);
    }
    if (space != LM_ID_BASE && file && is_idle())
        note_namespace(file);
    return load(space, file, flags);
}

/* Sign the manifest as long as it can be reached. */
int mt_hook_chroot(const char *path)
{
    MT_NO_CANCEL();
    int saved = errno, manifest = is_idle() ? mt_manifest_open_early() : -1;
    errno = saved;
    int result = (int)syscall(SYS_chroot, path);
    saved = errno;
    if (!result)
        mt_manifest_sign_at(manifest, "?chroot");
    else if (manifest >= 0)
        close(manifest);
    errno = saved;
    return result;
}
