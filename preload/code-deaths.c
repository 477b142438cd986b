/* SPDX-License-Identifier: Apache-2.0 */
#include "code-deaths.h"
#include "safe-read.h"

#define TYPE_DEALLOC 48 /* PyTypeObject.tp_dealloc, in all versions */

typedef void free_code(void *code);

_Atomic uint64_t mt_code_deaths;
static free_code *real_free;

static void count_and_free(void *code)
{
    atomic_fetch_add_explicit(&mt_code_deaths, 1, memory_order_release);
    real_free(code);
}

void mt_code_deaths_count(void *code_type)
{
    free_code *_Atomic *slot = (void *)((char *)code_type + TYPE_DEALLOC);
    free_code *found = atomic_load(slot);
    /* Once for all, also for forked children. */
    if (real_free || !found || mt_safe_write(slot, &found, sizeof found))
        return;
    real_free = found;
    atomic_store(&mt_code_deaths, 1);
    atomic_store(slot, count_and_free);
}
