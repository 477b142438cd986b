/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a language model: the parameter that makes a row of logits of each row that its last
 * layer returns. */
#include "facts.h"

/* Count the layer's parameters with this many elements. */
static size_t count_of(const struct mt_recording *recording, const struct mt_shard_groups *groups,
                       uint32_t group, uint64_t elements)
{
    size_t n = 0;
    for (size_t i = 0; i < recording->n; i++)
        n += recording->block[i].category == MT_CATEGORY_PARAMETERS &&
             mt_recorded_elements(&recording->block[i]) == elements &&
             mt_shard_group(groups, recording->block[i].module) == group;
    return n;
}

/* Return the layer's width: the most frequent length of its vectors (norms and biases), the longer
 * of equals. Routers and heads have other lengths. No vector's square exceeds the largest matrix.
 * 0: no parameters. */
static uint64_t width_of(const struct mt_recording *recording, const struct mt_shard_groups *groups,
                         uint32_t group)
{
    uint64_t most = 0, width = 0;
    size_t n = 0;
    for (size_t i = 0; i < recording->n; i++)
        if (recording->block[i].category == MT_CATEGORY_PARAMETERS &&
            mt_shard_group(groups, recording->block[i].module) == group &&
            mt_recorded_elements(&recording->block[i]) > most)
            most = mt_recorded_elements(&recording->block[i]);
    for (size_t i = 0; i < recording->n; i++) {
        uint64_t elements = mt_recorded_elements(&recording->block[i]);
        if (recording->block[i].category != MT_CATEGORY_PARAMETERS || !elements ||
            elements > most / elements ||
            mt_shard_group(groups, recording->block[i].module) != group)
            continue;
        size_t many = count_of(recording, groups, group, elements);
        if (many > n || (many == n && elements > width)) {
            n = many;
            width = elements;
        }
    }
    return width;
}

bool mt_head_find(struct mt_head *head, const struct mt_recording *recording,
                  const struct mt_shard_groups *groups, uint32_t group)
{
    uint64_t width = width_of(recording, groups, group), first = MT_EVER, last = 0;
    size_t before = SIZE_MAX, after = SIZE_MAX;
    for (size_t i = 0; i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        if (block->category != MT_CATEGORY_PARAMETERS || !mt_shard_group(groups, block->module))
            continue;
        first = block->begin < first ? block->begin : first;
        last = block->begin > last ? block->begin : last;
    }
    for (size_t i = 0; i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        if (block->category != MT_CATEGORY_PARAMETERS || mt_shard_group(groups, block->module) ||
            mt_recorded_elements(block) < 2 * width)
            continue;
        size_t *best = block->begin < first ? &before : block->begin > last ? &after : NULL;
        if (best && (*best == SIZE_MAX ||
                     mt_recorded_elements(block) > mt_recorded_elements(&recording->block[*best])))
            *best = i;
    }
    if (!width || before == SIZE_MAX ||
        (after != SIZE_MAX && mt_recorded_elements(&recording->block[after]) !=
                                  mt_recorded_elements(&recording->block[before])))
        return false;
    head->parameter = after != SIZE_MAX ? after : before;
    head->width = width;
    head->columns = mt_recorded_elements(&recording->block[head->parameter]) / width;
    return true;
}
