/* SPDX-License-Identifier: Apache-2.0 */
#include "inspect.h"
#include "analyzer/support/search.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

bool mt_inspect_is_used(const struct mt_replay *replay, unsigned slot)
{
    return replay->of_torch.peak[slot].event || replay->of_cuda.peak[slot].event;
}

static bool is_of_cuda(const struct mt_replay *replay, unsigned slot)
{
    return !replay->of_torch.peak[slot].event;
}

/* Live blocks, or those of the remembered moment. */
typedef bool is_chosen(const struct mt_heap *heap, const struct mt_block *block);

static bool is_live(const struct mt_heap *heap, const struct mt_block *block)
{
    (void)heap;
    return block->state == MT_BLOCK_LIVE;
}

static bool is_chosen_on(const struct mt_heap *heap, uint32_t index, unsigned slot,
                         is_chosen *choose)
{
    const struct mt_block *block = mt_heap_record(heap, index);
    return choose(heap, block) && mt_device_slot(block->device) == slot;
}

/* Release the copies' ends, unless they are real ends. */
static void give_back(struct mt_block *blocks, size_t n)
{
    for (size_t i = 0; blocks && i < n; i++)
        if (blocks[i].ended && blocks[i].state == MT_BLOCK_LIVE)
            mt_deaths_give(blocks[i].birth->deaths, blocks[i].ended);
    free(blocks);
}

/* Copy the chosen blocks, each that is live as if the trace ended here. */
static struct mt_block *copy_blocks(const struct mt_heap *heap, const struct mt_replay *replay,
                                    unsigned slot, is_chosen *choose, size_t *n)
{
    size_t most = 0;
    for (uint32_t i = 1; i < heap->n_records; i++)
        most += is_chosen_on(heap, i, slot, choose);
    struct mt_block *blocks = calloc(most + 1, sizeof *blocks);
    *n = 0;
    for (uint32_t i = 1; blocks && i < heap->n_records; i++) {
        if (!is_chosen_on(heap, i, slot, choose))
            continue;
        blocks[*n] = *mt_heap_record(heap, i);
        int rc =
            is_live(heap, &blocks[*n]) ? mt_tracker_ended(&replay->tracker, &blocks[*n], 1) : 0;
        (*n)++;
        if (rc) {
            give_back(blocks, *n);
            return NULL;
        }
    }
    return blocks;
}

MT_ORDER(by_address, struct mt_block, MT_RISING(address))

static int judge(const struct mt_replay *replay, struct mt_block *blocks, size_t n,
                 mt_inspect_handler *handle, void *data)
{
    struct mt_rule_context context = mt_replay_context(replay);
    const struct mt_naming naming = mt_replay_naming(replay);
    struct mt_verdict *verdicts = calloc(n + 1, sizeof *verdicts);
    if (!verdicts)
        return -ENOMEM;
    qsort(blocks, n, sizeof *blocks, by_address); /* in order, since rules may read neighbours */
    for (size_t i = 0; i < n; i++)
        verdicts[i].block = &blocks[i];
    int rc = mt_classify_all(&context, verdicts, n);
    if (!rc)
        rc = handle(data, &naming, verdicts, n);
    mt_equal_sets_clear(&context.copies);
    free(verdicts);
    return rc;
}

static int judge_chosen(const struct mt_replay *replay, unsigned slot, is_chosen *choose,
                        mt_inspect_handler *handle, void *data)
{
    size_t n;
    const struct mt_heap *heap = is_of_cuda(replay, slot) ? &replay->cuda.heap : &replay->blocks;
    struct mt_block *blocks = copy_blocks(heap, replay, slot, choose, &n);
    int rc = blocks ? judge(replay, blocks, n, handle, data) : -ENOMEM;
    give_back(blocks, n);
    return rc;
}

int mt_inspect_blocks(const struct mt_replay *replay, unsigned slot, mt_inspect_handler *handle,
                      void *data)
{
    return judge_chosen(replay, slot, is_live, handle, data);
}

static int collect(void *data, const struct mt_naming *naming, const struct mt_verdict *verdicts,
                   size_t n)
{
    struct mt_inspection *live = data;
    live->blocks = n;
    for (size_t i = 0; i < n; i++)
        live->category[verdicts[i].rule->category] += verdicts[i].block->size;
    return mt_sites_collect(&live->sites, naming, verdicts, n, false);
}

static int inspect(struct mt_inspection *live, const struct mt_replay *replay, unsigned slot,
                   is_chosen *choose)
{
    if (live->now.allocated > live->now.known_bytes)
        live->unseen = live->now.allocated - live->now.known_bytes;
    return judge_chosen(replay, slot, choose, collect, live);
}

int mt_inspect_device(struct mt_inspection *live, const struct mt_replay *replay, unsigned slot)
{
    memset(live, 0, sizeof *live);
    live->of_cuda = is_of_cuda(replay, slot);
    live->now = mt_replay_level(replay, live->of_cuda)->now[slot];
    live->peak = mt_replay_level(replay, live->of_cuda)->peak[slot];
    return inspect(live, replay, slot, is_live);
}

int mt_inspect_peak(struct mt_inspection *live, const struct mt_replay *replay, unsigned slot)
{
    memset(live, 0, sizeof *live);
    live->of_cuda = is_of_cuda(replay, slot);
    live->peak = mt_replay_level(replay, live->of_cuda)->peak[slot];
    live->now = live->peak;
    return inspect(live, replay, slot, mt_heap_is_remembered);
}

void mt_inspection_clear(struct mt_inspection *live)
{
    mt_sites_clear(&live->sites);
}
