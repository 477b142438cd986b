/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocator's settings, which a program may change at run time, before or after the recording
 * begins: torch.cuda.memory._set_allocator_settings, torch._C._accelerator_setAllocatorSettings.
 */
#include "alloc-conf.h"
#include "preload/hooks/hooks.h"
#include "preload/loader/find-real.h"
#include "preload/loader/images.h"

#include <string.h>

MT_CONF_HOOKS(MT_REAL_OF_ONE_RELEASE)

/* Return whether the call is the program's: PyTorch itself makes it with the variable's text when
 * it is loaded, from the same library. */
static bool is_programs(const void *caller)
{
    struct mt_image object;
    return !mt_image_find((uintptr_t)caller, &object) && !strstr(object.name, "/libc10");
}

/* Note the settings. conf: a C++ string of either kind, which begins with the address of its
 * characters. */
static void note_conf(const void *conf, const void *caller)
{
    if (!is_programs(caller))
        return;
    struct mt_thread *self = mt_enter();
    mt_alloc_conf_set(self, *(const char *const *)conf);
    if (self)
        mt_leave(self);
}

void mt_hook_set_conf(void *config, const void *conf)
{
    real_set_conf()(config, conf);
    note_conf(conf, __builtin_return_address(0));
}

#define HOOK(name)                                                                                 \
    void mt_hook_##name(const void *conf)                                                          \
    {                                                                                              \
        real_##name()(conf);                                                                       \
        note_conf(conf, __builtin_return_address(0));                                              \
    }
HOOK(set_conf_old)
HOOK(set_conf_old_string)
