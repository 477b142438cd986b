/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimizers' steps. Many allocate nothing once they have their state (fused ones, SGD with
 * momentum), so a trace would not show them; but all of torch.optim's, and classes derived from
 * them, report each step to PyTorch's profiler, whether it is on or not.
 */
#include "preload/hooks/hooks.h"
#include "preload/loader/find-real.h"
#include "preload/modules/read-objects.h"
#include "preload/record/recorder.h"
#include "preload/stacks/python-stack.h"

#include <string.h>

MT_STEP_HOOKS(MT_REAL_OF_ONE_RELEASE)

/* Note a step. name: a C++ string of either kind, which begins with the address of its characters.
 */
static void note_step(const void *name)
{
    static const char step[] = "Optimizer.step#";
    if (strncmp(*(const char *const *)name, step, sizeof step - 1) != 0)
        return;
    struct mt_thread *self = mt_enter();
    if (!self)
        return;
    uint32_t stack = mt_python_stack(self);
    mt_read_objects(self);
    mt_record(self, MT_STEP, MT_NO_DEVICE, stack, MT_ARGS(0));
    mt_leave(self);
}

#define HOOK(name)                                                                                 \
    void *mt_hook_##name(void *result, const void *range, const void *arguments)                   \
    {                                                                                              \
        note_step(range);                                                                          \
        return real_##name()(result, range, arguments);                                            \
    }
HOOK(record_enter)
HOOK(record_enter_old_string)
HOOK(record_enter_old)
