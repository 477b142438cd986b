/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA's live memory with an address, for the searches for holders: a table by address. Without
 * memory for it, what is newest is not known. */
#include "cuda-blocks.h"
#include "preload/holders/holders.h"
#include "trace-format/cuda-apis.h"
#include "writer-state.h"

#include <stdlib.h>

#define FIRST_PLACES 256u

struct entry {
    uint64_t address, size, time_ns; /* address: 0: free */
    int32_t device;
    uint32_t kind; /* of struct mt_cuda_block */
};

struct mt_cuda_blocks {
    size_t places, n;
    struct entry entry[];
};

static size_t place_of(const struct mt_cuda_blocks *blocks, uint64_t address)
{
    size_t at = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (blocks->places - 1);
    while (blocks->entry[at].address && blocks->entry[at].address != address)
        at = (at + 1) & (blocks->places - 1);
    return at;
}

static struct mt_cuda_blocks *grown(struct mt_cuda_blocks *old)
{
    size_t places = old ? 2 * old->places : FIRST_PLACES;
    struct mt_cuda_blocks *blocks = calloc(1, sizeof *blocks + places * sizeof *blocks->entry);
    if (!blocks)
        return old;
    blocks->places = places;
    blocks->n = old ? old->n : 0;
    for (size_t i = 0; old && i < old->places; i++)
        if (old->entry[i].address)
            blocks->entry[place_of(blocks, old->entry[i].address)] = old->entry[i];
    free(old);
    return blocks;
}

static inline __attribute__((always_inline)) void
add(const struct mt_event *event, uint64_t address, uint64_t size, unsigned kind)
{
    struct mt_cuda_blocks *blocks = mt_writer.cuda_blocks;
    if (MT_UNLIKELY(!blocks || 2 * blocks->n >= blocks->places))
        blocks = mt_writer.cuda_blocks = grown(blocks);
    if (!blocks || !address || !size || blocks->n + 1 >= blocks->places)
        return;
    struct entry *entry = &blocks->entry[place_of(blocks, address)];
    blocks->n += !entry->address;
    *entry = (struct entry){address, size, event->time_ns, event->device, kind};
}

/* Remove an entry, and move those behind it to where they are found without it. */
static inline __attribute__((always_inline)) void drop(uint64_t address)
{
    struct mt_cuda_blocks *blocks = mt_writer.cuda_blocks;
    size_t at = blocks ? place_of(blocks, address) : 0;
    if (!blocks || !address || !blocks->entry[at].address)
        return;
    blocks->entry[at].address = 0;
    blocks->n--;
    for (;;) {
        at = (at + 1) & (blocks->places - 1);
        struct entry moved = blocks->entry[at];
        if (!moved.address)
            return;
        blocks->entry[at].address = 0;
        blocks->entry[place_of(blocks, moved.address)] = moved;
    }
}

static inline __attribute__((always_inline)) void add_malloc(const struct mt_event *event)
{
    static const uint8_t kinds[] = {[MT_SPACE_DEVICE] = MT_BLOCK_DEVICE + 1,
                                    [MT_SPACE_MANAGED] = MT_BLOCK_MANAGED + 1,
                                    [MT_SPACE_HOST] = MT_BLOCK_HOST + 1};
    enum mt_space space = mt_cuda_api_space(event->CUDA_MALLOC.api);
    if (event->CUDA_MALLOC.result || space >= sizeof kinds || !kinds[space])
        return;
    add(event, event->CUDA_MALLOC.address, event->CUDA_MALLOC.size, kinds[space] - 1u);
}

static bool list(struct mt_holders_answer *answer, uint64_t begin_ns)
{
    const struct mt_cuda_blocks *blocks = mt_writer.cuda_blocks;
    bool has_room = true;
    for (size_t i = 0; blocks && i < blocks->places; i++) {
        const struct entry *entry = &blocks->entry[i];
        if (!entry->address || entry->time_ns > begin_ns - mt_writer.start_ns)
            continue;
        has_room = answer->n_blocks < MT_MOST_CUDA_BLOCKS;
        if (!has_room)
            break;
        answer->block[answer->n_blocks++] =
            (struct mt_cuda_block){entry->address, entry->size, entry->device, entry->kind};
    }
    return has_room;
}

void mt_cuda_blocks_tell(uint64_t until_ns)
{
    mt_holders_tell_blocks(until_ns, list);
}

void mt_cuda_blocks_note(const struct mt_event *event, size_t n)
{
    bool have_begun = mt_holders_have_begun(); /* one that begins now begins after these events */
    for (; n; event++, n--) {
        /* Before it changes what was live at their moment. */
        if (have_begun && mt_holders_are_sought())
            mt_cuda_blocks_tell(mt_writer.start_ns + event->time_ns - 1);
        switch (event->kind) {
        case MT_CUDA_MALLOC:
            add_malloc(event);
            break;
        case MT_CUDA_MALLOC_ASYNC:
            add(event, event->CUDA_MALLOC_ASYNC.address, event->CUDA_MALLOC_ASYNC.size,
                MT_BLOCK_DEVICE);
            break;
        case MT_CUDA_MAP:
            add(event, event->CUDA_MAP.address, event->CUDA_MAP.size, MT_BLOCK_DEVICE);
            break;
        case MT_CUDA_FREE:
        case MT_CUDA_FREE_ASYNC:
        case MT_CUDA_UNMAP:
            drop(event->CUDA_FREE.address);
            break;
        }
    }
}
