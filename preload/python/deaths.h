/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an object at an address is still the same: we replace the function of its type that frees
 * one, and call it.
 */
#ifndef MT_PRELOAD_DEATHS_H
#define MT_PRELOAD_DEATHS_H

#include <stdatomic.h>
#include <stdint.h>

/* Counts the code objects that Python frees: as long as none at an address was freed, the address
 * means the same object. */

#define MT_CODE_PLACES 4096u

extern _Atomic uint64_t mt_code_deaths; /* of all */
extern _Atomic uint32_t mt_code_deaths_at[MT_CODE_PLACES];

/* Called with each, before it is freed, if not NULL. */
extern void (*_Atomic mt_code_death_notice)(uint64_t code);

/* Start to count, once. code_type is PyCode_Type. Return 0, or -EFAULT if its memory is read-only.
 */
int mt_code_deaths_count(const void *code_type);

static inline _Atomic uint32_t *mt_code_deaths_of(uint64_t code)
{
    return &mt_code_deaths_at[(code >> 5 ^ code >> 17) % MT_CODE_PLACES];
}

/* Return the count for this address and others that share its place. It differs if another code
 * object was created at the address; it may also change for other reasons. */
static inline uint32_t mt_code_stamp(uint64_t code)
{
    return atomic_load_explicit(mt_code_deaths_of(code), memory_order_relaxed);
}

/* Watches OrderedDicts. Each torch.nn module has some of its own, which are freed with it. */

/* Start to watch, once. type is PyODict_Type. If its memory is read-only, nothing is watched. */
void mt_dict_deaths_start(const void *type);

/* Return a number that changes when this dict is freed, or earlier if too many others are watched;
 * NULL if nothing is watched. Call with the intern lock, while the dict is alive. */
const _Atomic uint64_t *mt_dict_deaths_watch(uint64_t dict);

#endif
