/* SPDX-License-Identifier: Apache-2.0 */
#include "look.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

bool mt_look_is_used(const struct mt_replay *replay, unsigned slot)
{
    return replay->peak[slot].event || replay->cuda_peak[slot].event;
}

static bool is_live_on(const struct mt_block *block, unsigned slot)
{
    return block->state == MT_BLOCK_LIVE && mt_device_slot(block->device) == slot;
}

/* Release the copies' ends, which are not real ends. */
static void give_back(struct mt_block *blocks, size_t n)
{
    for (size_t i = 0; blocks && i < n; i++)
        if (blocks[i].ended)
            mt_deaths_give(blocks[i].birth->deaths, blocks[i].ended);
    free(blocks);
}

/* Copy the live blocks, each as if the trace ended here. */
static struct mt_block *copy_blocks(const struct mt_heap *heap, const struct mt_replay *replay,
                                    unsigned slot, size_t *n)
{
    struct mt_block *blocks = calloc((size_t)heap->total[slot].blocks + 1, sizeof *blocks);
    *n = 0;
    for (uint32_t i = 1; blocks && i < heap->n_records && *n < heap->total[slot].blocks; i++) {
        const struct mt_block *block = mt_heap_record(heap, i);
        if (!is_live_on(block, slot))
            continue;
        blocks[*n] = *block;
        int rc = mt_tracker_ended(&replay->tracker, &blocks[(*n)++], 1);
        if (rc) {
            give_back(blocks, *n);
            return NULL;
        }
    }
    return blocks;
}

static int by_address(const void *left, const void *right)
{
    const struct mt_block *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static int judge(struct mt_look *look, const struct mt_replay *replay, struct mt_block *blocks, size_t n)
{
    struct mt_rule_context context = mt_replay_context(replay);
    struct mt_verdict *verdicts = calloc(n + 1, sizeof *verdicts);
    if (!verdicts)
        return -ENOMEM;
    qsort(blocks, n, sizeof *blocks, by_address); /* as everywhere: rules may read neighbours */
    for (size_t i = 0; i < n; i++)
        verdicts[i].block = &blocks[i];
    int rc = mt_classify_all(&context, verdicts, n);
    for (size_t i = 0; i < n && !rc; i++)
        look->category[verdicts[i].rule->category] += blocks[i].size;
    if (!rc)
        rc = mt_sites_collect(&look->sites, replay->definitions, verdicts, n);
    mt_equal_sets_clear(&context.copies);
    free(verdicts);
    return rc;
}

int mt_look_take(struct mt_look *look, const struct mt_replay *replay, unsigned slot)
{
    memset(look, 0, sizeof *look);
    look->of_cuda = replay->peak[slot].event == 0;
    look->now = look->of_cuda ? replay->cuda_now[slot] : replay->now[slot];
    look->peak = look->of_cuda ? replay->cuda_peak[slot] : replay->peak[slot];
    if (look->now.allocated > look->now.known_bytes)
        look->unseen = look->now.allocated - look->now.known_bytes;
    struct mt_block *blocks =
        copy_blocks(look->of_cuda ? &replay->cuda.heap : &replay->blocks, replay, slot, &look->blocks);
    int rc = blocks ? judge(look, replay, blocks, look->blocks) : -ENOMEM;
    give_back(blocks, look->blocks);
    return rc;
}

void mt_look_clear(struct mt_look *look)
{
    mt_sites_clear(&look->sites);
}
