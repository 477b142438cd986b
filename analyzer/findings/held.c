/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis.h"
#include "analyzer/support/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Note the holders of the blocks that a heap remembers, by their records' numbers. */
static void note(struct mt_device *device, const struct mt_replay *replay,
                 const struct mt_heap *heap, const struct mt_holder_ends *ends, uint64_t time_ns)
{
    for (uint32_t i = 1; i < heap->n_records; i++) {
        const struct mt_block *block = mt_heap_record(heap, i);
        if (!mt_heap_is_remembered(heap, block))
            continue;
        size_t at =
            MT_LEADING(j, device->n_verdicts, device->verdicts[j].block->address < block->address);
        while (at < device->n_verdicts && device->verdicts[at].block != block &&
               device->verdicts[at].block->address == block->address)
            at++;
        if (at == device->n_verdicts || device->verdicts[at].block != block)
            continue; /* another device's */
        uint64_t made_ns = mt_block_time(block), ended_ns = mt_holder_end_of(ends, block, i);
        device->held_from_ns = made_ns > device->held_from_ns ? made_ns : device->held_from_ns;
        device->held_until_ns = ended_ns < device->held_until_ns ? ended_ns : device->held_until_ns;
        device->held[at] = (struct mt_held_block){
            &device->verdicts[at], mt_holders_of(&replay->holders, ends, block, i, time_ns)};
    }
}

/* Note the list that a block's holders are from. */
static void note_list(struct mt_held_most *most, const struct mt_device *device,
                      const struct mt_holder_list *list)
{
    bool is_first = !most->has_list;
    most->has_list = true;
    most->is_then = (most->is_then || is_first) && list->time_ns >= device->held_from_ns &&
                    list->time_ns <= device->held_until_ns;
    most->is_later |= list->time_ns > device->held_until_ns;
    if (is_first || list->time_ns < most->first_ns)
        most->first_ns = list->time_ns;
    if (is_first || list->time_ns >= most->last_ns) {
        most->last_ns = list->time_ns;
        most->moment = list->moment;
    }
}

/* Find what holds only for a while. 0 or -ENOMEM. */
static int find_kinds(struct mt_device *device)
{
    static const uint32_t roots[MT_HELD_KINDS] = {[MT_HELD_GARBAGE] = MT_HOLDER_GARBAGE,
                                                  [MT_HELD_TRACEBACK] = MT_HOLDER_TRACEBACK,
                                                  [MT_HELD_LAST_ERROR] = MT_HOLDER_LAST_ERROR};
    struct mt_holder_tree tree;
    int rc = mt_held_tree(&tree, device, device->verdicts, device->n_verdicts);
    for (unsigned kind = 0; kind < MT_HELD_KINDS && !rc; kind++)
        rc = mt_held_most_of_root(&device->held_by[kind], &tree, roots[kind]);
    mt_holder_tree_clear(&tree);
    for (size_t i = 0; i < device->n_held; i++)
        for (unsigned kind = 0; kind < MT_HELD_KINDS; kind++)
            if (device->held[i].held.by->root == roots[kind])
                note_list(&device->held_by[kind], device, device->held[i].held.list);
    return rc;
}

int mt_held_find(struct mt_device *device, const struct mt_replay *replay, unsigned slot)
{
    const struct mt_holders *holders = &replay->holders;
    uint64_t time_ns = replay->at_moment.device_ns[slot];
    if (!holders->n || !device->n_verdicts)
        return 0;
    device->held = calloc(device->n_verdicts, sizeof *device->held);
    if (!device->held)
        return -ENOMEM;
    device->held_until_ns = UINT64_MAX;
    if (device->of_cuda)
        note(device, replay, &replay->cuda.heap, &holders->of_cuda, time_ns);
    else
        note(device, replay, &replay->blocks, &holders->of_blocks, time_ns);
    for (size_t i = 0; i < device->n_verdicts; i++)
        if (device->held[i].held.n)
            device->held[device->n_held++] = device->held[i];
    return device->n_held ? find_kinds(device) : 0;
}

const struct mt_block_held *mt_device_held(const struct mt_device *device,
                                           const struct mt_block *block)
{
    size_t at =
        MT_LEADING(i, device->n_held, device->held[i].verdict->block->address < block->address);
    for (; at < device->n_held && device->held[at].verdict->block->address == block->address; at++)
        if (device->held[at].verdict->block == block)
            return &device->held[at].held;
    return NULL;
}

int mt_held_tree(struct mt_holder_tree *tree, const struct mt_device *device,
                 const struct mt_verdict *verdicts, size_t n)
{
    *tree = (struct mt_holder_tree){0};
    struct mt_holding *holdings = calloc(n + 1, sizeof *holdings);
    size_t n_holdings = 0;
    if (!holdings)
        return -ENOMEM;
    for (size_t i = 0; i < n && device->n_held; i++) {
        const struct mt_block_held *held = mt_device_held(device, verdicts[i].block);
        if (held)
            holdings[n_holdings++] = (struct mt_holding){held, verdicts[i].block->size, i};
    }
    int rc = mt_holder_tree_build(tree, device->context.definitions, holdings, n_holdings);
    free(holdings);
    return rc;
}

int mt_held_most_of(struct mt_held_most *most, const struct mt_device *device,
                    const struct mt_verdict *verdicts, size_t n)
{
    struct mt_holder_tree tree;
    *most = (struct mt_held_most){0};
    if (!device->n_held)
        return 0;
    int rc = mt_held_tree(&tree, device, verdicts, n);
    if (!rc)
        rc = mt_held_most_find(most, &tree);
    mt_holder_tree_clear(&tree);
    for (size_t i = 0; i < n && !rc; i++) {
        const struct mt_block_held *held = mt_device_held(device, verdicts[i].block);
        if (held)
            note_list(most, device, held->list);
    }
    return rc;
}

/* A held block by what makes its call site. */
struct placed {
    uint32_t key[MT_SITE_WHOLE];
    struct mt_verdict verdict;
};

static int by_keys(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    for (unsigned i = 0; i < MT_SITE_WHOLE; i++)
        if (a->key[i] != b->key[i])
            return MT_RISING(key[i]);
    return 0;
}

MT_ORDER(by_keys_and_address, struct placed, by_keys(a, b) ?: MT_RISING(verdict.block->address))

/* Find what holds most of a site: the equal ones of the blocks, which are sorted. */
static int find_of_site(struct mt_site *site, const struct mt_device *device,
                        const struct placed *placed, size_t n)
{
    const struct placed wanted = {
        .key = {[MT_SITE_CATEGORY] = site->category,
                [MT_SITE_PLACE] = mt_stack_place(device->context.definitions, site->stack),
                [MT_SITE_OPERATOR] = site->node_name,
                [MT_SITE_NAME] = site->name}};
    size_t first = MT_LEADING(i, n, by_keys(&placed[i], &wanted) < 0);
    size_t end = MT_LEADING(i, n, by_keys(&placed[i], &wanted) <= 0);
    struct mt_verdict *verdicts = calloc(end - first + 1, sizeof *verdicts);
    if (!verdicts)
        return -ENOMEM;
    for (size_t i = first; i < end; i++)
        verdicts[i - first] = placed[i].verdict;
    struct mt_held_most most;
    int rc = mt_held_most_of(&most, device, verdicts, end - first);
    free(verdicts);
    if (!rc && most.path && !(site->held = malloc(sizeof most)))
        rc = -ENOMEM;
    if (site->held)
        *site->held = most;
    else
        mt_held_most_clear(&most);
    return rc;
}

int mt_held_sites(struct mt_device *device, const struct mt_naming *naming)
{
    struct placed *placed = device->n_held ? calloc(device->n_shown + 1, sizeof *placed) : NULL;
    const struct mt_query query = mt_site_query(naming, false);
    size_t n = 0;
    if (!device->n_held)
        return 0;
    for (size_t i = 0; placed && i < device->n_shown; i++) {
        if (!mt_device_held(device, device->shown[i].block))
            continue;
        placed[n].verdict = device->shown[i];
        const struct mt_sum site = mt_query_row(&query, &device->shown[i]);
        memcpy(placed[n].key, site.key, sizeof placed[n].key);
        n++;
    }
    int rc = placed ? 0 : -ENOMEM;
    if (n)
        qsort(placed, n, sizeof *placed, by_keys_and_address);
    for (size_t i = 0; i < device->sites.n && !rc; i++)
        if (!device->sites.site[i].whole) /* else a line has several sites */
            rc = find_of_site(&device->sites.site[i], device, placed, n);
    free(placed);
    return rc;
}
