/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the code objects that Python frees: while none was at an address, that means the same one
 * as before. Python's type of code objects says what frees one; we stand in front of it.
 */
#ifndef MT_PRELOAD_CODE_DEATHS_H
#define MT_PRELOAD_CODE_DEATHS_H

#include <stdatomic.h>
#include <stdint.h>

#define MT_CODE_PLACES 4096u

extern _Atomic uint64_t mt_code_deaths; /* of all */
extern _Atomic uint32_t mt_code_deaths_at[MT_CODE_PLACES];

/* Begins to count, once. code_type: PyCode_Type. 0, or -EFAULT: its memory is read-only. */
int mt_code_deaths_count(const void *code_type);

static inline _Atomic uint32_t *mt_code_deaths_of(uint64_t code)
{
    return &mt_code_deaths_at[(code >> 5 ^ code >> 17) % MT_CODE_PLACES];
}

/* Of those at addresses that share a place with this one. It differs where another code object came
 * to live at an address; for one that is there, it may also change for no reason. */
static inline uint32_t mt_code_stamp(uint64_t code)
{
    return atomic_load_explicit(mt_code_deaths_of(code), memory_order_relaxed);
}

#endif
