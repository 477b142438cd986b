/* SPDX-License-Identifier: Apache-2.0 */
/* Values that a program asks a simulated device for and that were not computed: what follows from
 * them may be too small. */
#include "preload/hooks/hooks.h"
#include "preload/loader/find-real.h"
#include "preload/record/recorder.h"
#include "preload/stacks/python-stack.h"

MT_VALUE_HOOKS(MT_REAL_OF_ONE_RELEASE)

void mt_hook_unknown_value(int what, const char *name)
{
    struct mt_thread *self = mt_enter();
    if (self) {
        mt_record(self, MT_UNKNOWN_VALUE, MT_NO_DEVICE, mt_python_stack(self),
                  MT_ARGS((uint64_t)what));
        mt_leave(self);
    }
    real_unknown_value()(what, name);
}
