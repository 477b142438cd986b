/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of runs that a user accepts besides whole ones: --allow-ended. */
#ifndef MT_ALLOWED_H
#define MT_ALLOWED_H

#include <stdbool.h>

#include "analyzer/trace/ended.h"

/* One bit for each enum mt_ended_how. */
typedef unsigned mt_allowed_ends;

static inline bool mt_is_allowed_end(mt_allowed_ends allowed, const struct mt_ended *ended)
{
    return ended->how == MT_ENDED_WHOLE || (allowed >> ended->how & 1);
}

#endif
