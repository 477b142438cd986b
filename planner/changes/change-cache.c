/* SPDX-License-Identifier: Apache-2.0 */
/* A smaller cache of keys and values: of fewer or of shorter sequences. */
#include "kinds.h"

#include <errno.h>

static bool is_of_cache(const struct mt_recorded_block *block)
{
    return block->category == MT_CATEGORY_KV_CACHE;
}

bool mt_has_cache(const struct mt_recording *recording)
{
    size_t i = 0;
    while (i < recording->n && !is_of_cache(&recording->block[i]))
        i++;
    return i < recording->n;
}

/* Return whether a request that failed was for the cache: a line that made some of it made it. */
static bool was_for_cache(const struct mt_recording *recording,
                          const struct mt_recorded_block *failed)
{
    uint32_t python = mt_stack(recording->definitions, failed->stack)->python;
    for (size_t i = 0; failed->was_caught && python && i < recording->n; i++)
        if (is_of_cache(&recording->block[i]) &&
            mt_stack(recording->definitions, recording->block[i].stack)->python == python)
            return true;
    return false;
}

/* Scale the cache alone: what else its sequences need is left as it was. */
int mt_change_kv_cache(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    const struct mt_recording *recording = edits->recording;
    double part = mt_change_part(argument);
    if (part <= 0)
        return -EINVAL;
    if (!mt_has_cache(recording)) {
        change->why_not = "no KV cache was recorded";
        return -ENOENT;
    }
    for (size_t i = 0; i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        if (is_of_cache(block) || was_for_cache(recording, block))
            edits->block[i].size = mt_scaled(edits->block[i].size, part);
    }
    return 0;
}
