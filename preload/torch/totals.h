/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program does to PyTorch's allocator without allocating or freeing: empty_cache (also one
 * that frees nothing), and a limit on its memory (set_per_process_memory_fraction). A device's
 * allocator counts the first and keeps the second in its own record, which also has the pools of
 * blocks; their place is learned by reads that cannot crash, from the totals that it reports. A
 * change is recorded just before the next alloc, free or oom. In a hook, under the allocator's
 * lock.
 */
#ifndef MT_PRELOAD_TOTALS_H
#define MT_PRELOAD_TOTALS_H

#include "blocks.h"
#include "preload/loader/find-real.h"
#include "preload/record/recorder.h"

#define MT_TOTALS_DEVICES 16u /* for further devices these are not recorded */
#define MT_TOTALS_WORDS 4u

/* Words of a device's allocator that seldom change, and their last values. Before they are known,
 * and if they cannot be, they are words of ours. */
struct mt_allocator_words {
    const uint64_t *word[MT_TOTALS_WORDS];
    uint64_t last[MT_TOTALS_WORDS];
};
extern struct mt_allocator_words mt_allocator_words[MT_TOTALS_DEVICES];

MT_UNSANITIZED static inline bool mt_totals_are_as_before(unsigned device)
{
    const struct mt_allocator_words *totals = &mt_allocator_words[device % MT_TOTALS_DEVICES];
    uint64_t changed = 0;
    for (unsigned i = 0; i < MT_TOTALS_WORDS; i++) {
        if (MT_UNLIKELY(!totals->word[i]))
            return false;
        changed |= *totals->word[i] ^ totals->last[i];
    }
    return !changed;
}

/* Learn where the totals are, and record changes at an alloc, a free or an oom, with its arguments;
 * and at the first free, or alloc from a shared pool, what was allocated before the recording. Call
 * it when an alloc's request is recorded, which knows the pool of its block. */
void mt_totals_follow(struct mt_thread *self, unsigned kind, unsigned device,
                      const uint64_t arguments[static MT_EVENT_ARGS], struct mt_caller caller)
    __attribute__((cold));

/* Reset in a forked child. */
void mt_totals_reset(void);

#endif
