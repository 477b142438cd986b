/* SPDX-License-Identifier: Apache-2.0 */
/* Which workspaces were recorded and not freed since, by a hash of their addresses. */
#ifndef MT_PRELOAD_HOOKS_MATH_H
#define MT_PRELOAD_HOOKS_MATH_H

#include "trace-format/likely.h"

#include <stdatomic.h>
#include <stdint.h>

#define MT_KNOWN_WORKSPACES 64u

extern _Atomic uint64_t mt_known_workspaces[MT_KNOWN_WORKSPACES];

static inline _Atomic uint64_t *mt_known_workspace(uint64_t address)
{
    return &mt_known_workspaces[(address >> 9 ^ address >> 21) % MT_KNOWN_WORKSPACES];
}

/* Forget the freed block at the address: what is there next must be recorded again. */
static inline void mt_forget_workspace(uint64_t address)
{
    _Atomic uint64_t *known = mt_known_workspace(address);
    if (MT_UNLIKELY(atomic_load_explicit(known, memory_order_relaxed) == address))
        atomic_store_explicit(known, 0, memory_order_relaxed);
}

#endif
