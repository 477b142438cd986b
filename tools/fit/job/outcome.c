/* SPDX-License-Identifier: Apache-2.0 */
#include "outcome.h"

const char *mt_fit_end_name(enum mt_fit_end end)
{
    static const char *const names[] = {
#define MT_FIT_NAME(id, name) name,
        MT_FIT_ENDS(MT_FIT_NAME)
#undef MT_FIT_NAME
    };
    return names[end];
}
