/* SPDX-License-Identifier: Apache-2.0 */
#include "code-deaths.h"
#include "trace-format/likely.h"
#include "type-dealloc.h"

MT_HOT _Atomic uint64_t mt_code_deaths;
_Atomic uint32_t mt_code_deaths_at[MT_CODE_PLACES];
MT_HOT void (*_Atomic mt_code_death_notice)(uint64_t code);
static mt_dealloc *real_free;

static void count_and_free(void *code)
{
    uint64_t address = (uint64_t)(uintptr_t)code;
    atomic_fetch_add_explicit(mt_code_deaths_of(address), 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&mt_code_deaths, 1, memory_order_release);
    void (*notice)(uint64_t) = atomic_load_explicit(&mt_code_death_notice, memory_order_relaxed);
    if (MT_UNLIKELY(notice != NULL))
        notice(address);
    real_free(code);
}

int mt_code_deaths_count(const void *code_type)
{
    return mt_dealloc_replace(code_type, count_and_free, &real_free);
}
