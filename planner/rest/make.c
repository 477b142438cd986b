/* SPDX-License-Identifier: Apache-2.0 */
/* Add blocks and module visits to a recording, and look up live blocks by size. */
#include "analyzer/support/grow.h"
#include "analyzer/support/median.h"
#include "analyzer/support/search.h"
#include "inside.h"

#include <errno.h>
#include <stdlib.h>

uint32_t mt_rest_group(const struct mt_resting *resting, uint32_t frame)
{
    return mt_shard_group(&resting->groups, frame);
}

size_t mt_rest_make(struct mt_resting *resting, struct mt_recorded_block like)
{
    struct mt_recording *recording = resting->recording;
    if (MT_GROW(recording->block, recording->capacity, recording->n))
        return SIZE_MAX;
    like.begin = ++resting->now;
    recording->block[recording->n] = like;
    return recording->n++;
}

size_t mt_rest_make_of(struct mt_resting *resting, uint64_t bytes, enum mt_category category,
                       enum mt_phase phase)
{
    return mt_rest_make(resting,
                        (struct mt_recorded_block){.end = MT_EVER,
                                                   .size = mt_block_of(bytes),
                                                   .device = (int16_t)resting->recording->device,
                                                   .category = (uint8_t)category,
                                                   .step = phase == MT_PHASE_STEP,
                                                   .phase = (uint8_t)phase});
}

void mt_rest_end(struct mt_resting *resting, size_t block)
{
    resting->recording->block[block].end = ++resting->now;
}

int mt_rest_turn(struct mt_resting *resting, uint32_t module, enum mt_phase phase)
{
    struct mt_recording *recording = resting->recording;
    return MT_APPEND(recording->turn, recording->turns_capacity, recording->n_turns,
                     (struct mt_turn){++resting->now, module, (uint8_t)phase});
}

int mt_rest_sizes_of(struct mt_rest_sizes *sizes, const struct mt_resting *resting,
                     enum mt_category category)
{
    const struct mt_recording *recording = resting->recording;
    *sizes = (struct mt_rest_sizes){.size = calloc(recording->n + 1, sizeof *sizes->size)};
    for (size_t i = 0; sizes->size && i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        if (block->category == category && block->end == MT_EVER && !block->is_master)
            sizes->size[sizes->n++] = block->size;
    }
    mt_sort_sizes(sizes->size, sizes->n);
    return sizes->size ? 0 : -ENOMEM;
}

/* Take a block of this size and mark it by its lowest bit, since sizes are multiples of 512. */
bool mt_rest_sizes_take(struct mt_rest_sizes *sizes, uint64_t size)
{
    size_t low = MT_LEADING(i, sizes->n, (sizes->size[i] & ~UINT64_C(1)) < size);
    for (; low < sizes->n && (sizes->size[low] & ~UINT64_C(1)) == size; low++)
        if (!(sizes->size[low] & 1)) {
            sizes->size[low] |= 1;
            return true;
        }
    return false;
}
