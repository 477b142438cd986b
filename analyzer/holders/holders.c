/* SPDX-License-Identifier: Apache-2.0 */
#include "holders.h"
#include "analyzer/support/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int mt_holders_add(struct mt_holders *holders, const struct mt_event *event)
{
    struct mt_holder_list *open = &holders->open;
    return MT_APPEND(open->holder, open->capacity, open->n,
                     (struct mt_holder){.address = event->HOLDER.address,
                                        .view = event->HOLDER.view,
                                        .path = (uint32_t)event->HOLDER.path,
                                        .root = (uint32_t)event->HOLDER.root,
                                        .order = open->n});
}

MT_ORDER(by_address, struct mt_holder, MT_RISING(address) ?: MT_RISING(order))

int mt_holders_end(struct mt_holders *holders, const struct mt_event *event, bool is_over)
{
    struct mt_holder_list list = holders->open;
    holders->open = (struct mt_holder_list){0};
    holders->n_ever++;
    if (holders->n == MT_HOLDER_LISTS && is_over) {
        free(list.holder);
        return 0;
    }
    if (holders->n == MT_HOLDER_LISTS) {
        free(holders->list[0].holder);
        memmove(holders->list, holders->list + 1, --holders->n * sizeof *holders->list);
    }
    list.time_ns = event->time_ns > event->HOLDERS.age ? event->time_ns - event->HOLDERS.age : 0;
    list.objects = event->HOLDERS.objects;
    list.moment = event->HOLDERS.moment;
    list.result = event->HOLDERS.result;
    if (list.n)
        qsort(list.holder, list.n, sizeof *list.holder, by_address);
    holders->list[holders->n++] = list;
    return 0;
}

void mt_holders_clear(struct mt_holders *holders)
{
    for (unsigned i = 0; i < holders->n; i++)
        free(holders->list[i].holder);
    free(holders->open.holder);
    free(holders->of_blocks.ns);
    free(holders->of_cuda.ns);
    *holders = (struct mt_holders){0};
}

/* Return the holders of addresses in a block. */
static struct mt_block_held find(const struct mt_holder_list *list, const struct mt_block *block)
{
    struct mt_block_held held = {.list = list};
    size_t first = MT_LEADING(i, list->n, list->holder[i].address < block->address);
    held.by = list->holder + first;
    while (held.n < MT_HELD_MOST && first + held.n < list->n &&
           held.by[held.n].address - block->address < block->size)
        held.n++;
    return held;
}

struct mt_block_held mt_holders_of(const struct mt_holders *holders,
                                   const struct mt_holder_ends *ends, const struct mt_block *block,
                                   uint32_t index, uint64_t time_ns)
{
    struct mt_block_held best = {0};
    uint64_t nearest = UINT64_MAX, made_ns = mt_block_time(block);
    uint64_t ended_ns = mt_holder_end_of(ends, block, index);
    for (unsigned i = 0; i < holders->n; i++) {
        const struct mt_holder_list *list = &holders->list[i];
        bool is_later = list->time_ns > time_ns;
        uint64_t distance = is_later ? list->time_ns - time_ns : time_ns - list->time_ns;
        if (distance >= nearest || made_ns > list->time_ns ||
            (is_later && ended_ns < list->time_ns))
            continue;
        struct mt_block_held held = find(list, block);
        if (!held.n)
            continue;
        best = held;
        nearest = distance;
    }
    return best;
}
