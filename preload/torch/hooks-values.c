/* SPDX-License-Identifier: Apache-2.0 */
/* Values that a program reads from a simulated device that are not simulated: what follows from
 * them may be too small. */
#include "preload/hooks/hooks.h"
#include "preload/loader/find-real.h"
#include "preload/record/recorder.h"
#include "preload/stacks/python-stack.h"

#include <stdlib.h>

MT_VALUE_HOOKS(MT_REAL_OF_ONE_RELEASE)

/* From INSTALLED on, the name is the version of the cuDNN that answered, a number. */
enum { CONDITION = 2, REAL = 4, INSTALLED = 7 };

/* Return whether torch.distributions checks its arguments: it raises, or nothing depends on it. */
static bool is_validity_check(struct mt_thread *self)
{
    static const char *const functions[] = {"_all_true_or_runtime_assert", "__init__",
                                            "_validate_sample"};
    struct mt_python_place place;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (mt_python_is_near(self, functions[i], "torch/distributions/distribution.py", &place))
            return true;
    return false;
}

/* Return whether the value is printed or saved: no size follows from it. */
static bool is_output(struct mt_thread *self)
{
    struct mt_python_place place;
    return mt_python_is_near(self, NULL, "torch/_tensor_str.py", &place) ||
           mt_python_is_near(self, NULL, "torch/serialization.py", &place);
}

void mt_hook_unknown_value(int what, const char *name)
{
    struct mt_thread *self = mt_enter();
    if (self &&
        ((what == CONDITION && is_validity_check(self)) || (what <= REAL && is_output(self)))) {
        mt_leave(self);
        return;
    }
    if (self) {
        mt_record(self, MT_UNKNOWN_VALUE, MT_NO_DEVICE, mt_python_stack(self),
                  MT_ARGS((uint64_t)what, what >= INSTALLED ? strtoull(name, NULL, 10) : 0));
        mt_leave(self);
    }
    real_unknown_value()(what, name);
}
