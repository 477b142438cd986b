/* SPDX-License-Identifier: Apache-2.0 */
#include "code-deaths.h"
#include "hot.h"
#include "safe-read.h"

#include <errno.h>

#define TYPE_DEALLOC 48 /* PyTypeObject.tp_dealloc, in all versions */

typedef void free_code(void *code);

MT_HOT _Atomic uint64_t mt_code_deaths;
_Atomic uint32_t mt_code_deaths_at[MT_CODE_PLACES];
static free_code *real_free;

static void count_and_free(void *code)
{
    uint64_t address = (uint64_t)(uintptr_t)code;
    atomic_fetch_add_explicit(mt_code_deaths_of(address), 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&mt_code_deaths, 1, memory_order_release);
    real_free(code);
}

int mt_code_deaths_count(void *code_type)
{
    free_code *_Atomic *slot = (void *)((char *)code_type + TYPE_DEALLOC);
    free_code *found = atomic_load(slot);
    if (real_free) /* once for all, also for forked children */
        return 0;
    if (!found || mt_safe_write(slot, &found, sizeof found))
        return -EFAULT;
    real_free = found;
    atomic_store(slot, count_and_free);
    return 0;
}
