/* SPDX-License-Identifier: Apache-2.0 */
/* A position in untrusted bytes. Each take reads a number there: 0, or -EINVAL if there is none. */
#ifndef MT_TRACE_CURSOR_H
#define MT_TRACE_CURSOR_H

#include "varint.h"

#include <errno.h>

struct mt_cursor {
    const unsigned char *at, *end;
};

static inline int mt_take(struct mt_cursor *cursor, uint64_t *value)
{
    const unsigned char *next = mt_varint_get(cursor->at, cursor->end, value);
    if (!next)
        return -EINVAL;
    cursor->at = next;
    return 0;
}

static inline int mt_take32(struct mt_cursor *cursor, uint32_t *value)
{
    uint64_t wide;
    if (mt_take(cursor, &wide) || wide > UINT32_MAX)
        return -EINVAL;
    *value = (uint32_t)wide;
    return 0;
}

#endif
