/* SPDX-License-Identifier: Apache-2.0 */
#include "balance.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"

#include "private-pools.h"
#include "trace-format/cuda-apis.h"
#include <string.h>

#include <stdbool.h>
#include <stdio.h>

struct parts {
    struct mt_balance_part *part;
    size_t n, capacity;
};

/* Name the library that requested the memory; without one, the user's Python line or else the call.
 */
static void name_of(char *out, size_t size, const struct mt_definitions *d,
                    const struct mt_block *block)
{
    const char *library = mt_library_of(d, block->stack);
    uint32_t user = mt_stack(d, block->stack)->user;
    if (library)
        snprintf(out, size, "%s", library);
    else if (user)
        mt_place_text(out, size, d, user);
    else
        snprintf(out, size, "%s", mt_cuda_api_name(block->api));
}

/* Return whether any PyTorch block begins in it. */
static bool holds_blocks(const struct mt_block *block, const struct mt_verdict *verdicts, size_t n)
{
    size_t low = MT_LEADING(i, n, verdicts[i].block->address < block->address);
    return low < n && verdicts[low].block->address - block->address < block->size;
}

/* Recognize a segment without blocks. *lacks: bytes of segments missing from the trace; memory that
 * may be one of them counts as one. */
static bool is_segment(const struct mt_replay *replay, const struct mt_block *block,
                       uint64_t *lacks)
{
    if (block->evidence & MT_SAW_SEGMENT)
        return true;
    if (!mt_may_be_segment(replay, block) || block->size > *lacks)
        return false;
    *lacks -= block->size;
    return true;
}

/* Return the bytes reserved beyond the segments that are known. */
static uint64_t find_lacking(const struct mt_heap *heap, unsigned slot, uint64_t reserved)
{
    uint64_t known = 0;
    for (uint32_t i = 1; i < heap->n_records; i++) {
        const struct mt_block *block = mt_heap_record(heap, i);
        if (mt_heap_is_remembered(heap, block) && mt_device_slot(block->device) == slot &&
            block->evidence & MT_SAW_SEGMENT)
            known += block->size;
    }
    return reserved > known ? reserved - known : 0;
}

static int add(struct parts *parts, const char *name, uint64_t bytes)
{
    for (size_t i = 0; i < parts->n; i++)
        if (!strcmp(parts->part[i].name, name)) {
            parts->part[i].bytes += bytes;
            parts->part[i].blocks++;
            return 0;
        }
    if (MT_GROW(parts->part, parts->capacity, parts->n))
        return -ENOMEM;
    struct mt_balance_part *part = &parts->part[parts->n++];
    *part = (struct mt_balance_part){.bytes = bytes, .blocks = 1};
    snprintf(part->name, sizeof part->name, "%s", name);
    return 0;
}

MT_ORDER(by_bytes, struct mt_balance_part, MT_FALLING(bytes) ?: MT_BY_TEXT(name))

bool mt_balance_is_nccl(const struct mt_balance_part *part)
{
    static const char nccl[] = "libnccl";
    return !strncmp(part->name, nccl, sizeof nccl - 1);
}

static int find_parts(struct parts *parts, struct parts *empty_parts,
                      const struct mt_replay *replay, unsigned slot,
                      const struct mt_verdict *verdicts, size_t n, uint64_t reserved)
{
    const struct mt_heap *heap = &replay->cuda.heap;
    uint64_t lacks = find_lacking(heap, slot, reserved);
    char name[sizeof parts->part->name];
    for (uint32_t i = 1; i < heap->n_records; i++) {
        const struct mt_block *block = mt_heap_record(heap, i);
        if (!mt_heap_is_remembered(heap, block) || mt_device_slot(block->device) != slot)
            continue;
        if (holds_blocks(block, verdicts, n))
            continue;
        bool is_empty = is_segment(replay, block, &lacks);
        if (is_empty && block->api == MT_API_CU_MEM_CREATE)
            continue; /* a piece of a segment that may hold blocks elsewhere */
        if (is_empty)
            mt_segment_text(name, sizeof name, replay, block);
        else
            name_of(name, sizeof name, replay->definitions, block);
        if (add(is_empty ? empty_parts : parts, name, block->size))
            return -ENOMEM;
    }
    return 0;
}

static uint64_t bytes_of_nccl(const struct parts *parts)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < parts->n; i++)
        bytes += mt_balance_is_nccl(&parts->part[i]) ? parts->part[i].bytes : 0;
    return bytes;
}

/* Copy the largest parts in order of size. Return their number. */
static size_t take_parts(struct mt_balance_part *out, struct parts *parts)
{
    if (parts->n)
        qsort(parts->part, parts->n, sizeof *parts->part, by_bytes);
    size_t n = parts->n < MT_BALANCE_PARTS ? parts->n : MT_BALANCE_PARTS;
    for (size_t i = 0; i < n; i++)
        out[i] = parts->part[i];
    free(parts->part);
    return n;
}

static uint64_t less(uint64_t from, uint64_t bytes)
{
    return from > bytes ? from - bytes : 0;
}

/* Find the rest. The sample is from shortly before or after the moment; CUDA's allocations and
 * frees in between are known exactly. */
static void find_rest(struct mt_balance *balance, const struct mt_sample *sample,
                      const struct mt_sample *first, uint64_t cuda_bytes)
{
    uint64_t used = less(sample->total, sample->free);
    balance->known = 1;
    balance->knows_own = sample->own > 0;
    balance->sample_time_ns = sample->time_ns;
    balance->total = sample->total;
    balance->sampled = used;
    balance->used = less(used, sample->cuda_bytes) + cuda_bytes;
    uint64_t too_many = less(balance->used, sample->total); /* they were counted twice */
    balance->used -= too_many;
    balance->runtime = less(mt_sample_besides(sample), too_many);
    uint64_t begun_with = mt_sample_besides(first);
    balance->first = begun_with < balance->runtime ? begun_with : balance->runtime;
    balance->objects = sample->objects;
    balance->since = (struct mt_cuda_object_counts){
        .contexts = less(sample->objects.contexts, first->objects.contexts),
        .modules = less(sample->objects.modules, first->objects.modules),
        .streams = less(sample->objects.streams, first->objects.streams),
        .communicators = less(sample->objects.communicators, first->objects.communicators),
        .code = less(sample->objects.code, first->objects.code)};
    balance->others = sample->others;
    balance->unexplained = less(balance->used, cuda_bytes + balance->runtime + balance->others);
}

int mt_balance_find(struct mt_balance *balance, const struct mt_replay *replay, unsigned slot,
                    const struct mt_totals *at, const struct mt_verdict *verdicts, size_t n)
{
    struct parts parts = {0}, empty = {0};
    *balance = (struct mt_balance){.pytorch = at->reserved,
                                   .imported = mt_imported_find(&replay->cuda.imported, slot)};
    int rc = find_parts(&parts, &empty, replay, slot, verdicts, n, at->reserved);
    balance->cuda = less(at->cuda_bytes, at->reserved);
    balance->nccl.communicators = replay->at_moment.communicators[slot];
    balance->nccl.bytes = bytes_of_nccl(&parts);
    balance->n_parts = take_parts(balance->part, &parts);
    balance->n_empty = take_parts(balance->empty, &empty);
    if (!rc && replay->samples.at[slot].time_ns)
        find_rest(balance, &replay->samples.at[slot], &replay->samples.first[slot], at->cuda_bytes);
    return rc;
}
