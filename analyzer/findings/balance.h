/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What takes the memory of a device besides PyTorch's blocks: what the device itself said is taken
 * (device_memory), part by part.
 */
#ifndef MT_BALANCE_H
#define MT_BALANCE_H

#include "analyzer/model/imported.h"
#include "analyzer/replay/replay.h"
#include "analyzer/replay/segments.h"

#define MT_BALANCE_PARTS 6u

struct mt_balance {
    int known;     /* the device was asked; else only pytorch, cuda and the parts are known */
    int knows_own; /* NVML told what is this process's; else runtime has other processes in it */
    uint64_t sample_time_ns;
    uint64_t total, used; /* of the device; used: at the moment */
    uint64_t pytorch;     /* what PyTorch's allocator has reserved */
    uint64_t cuda;        /* what else this process got by CUDA calls; in parts: */
    struct mt_balance_part {
        char name[96]; /* a library, a line of Python, or the call */
        uint64_t bytes, blocks;
    } part[MT_BALANCE_PARTS]; /* the largest first */
    size_t n_parts;
    /* Of PyTorch's segments those that no block is in, by the MemPool, or else the range or
     * the line that they were asked for in: a graph's, which serves nothing else, or PyTorch's. */
    struct mt_balance_part empty[MT_BALANCE_PARTS];
    size_t n_empty;
    uint64_t runtime; /* this process's, and nothing that it asked for: context, modules */
    uint64_t first;   /* of that, what was there when the device was first asked */
    struct mt_cuda_object_counts objects,
        since;                              /* there then; made since the device was first asked */
    struct mt_imported imported;            /* counted where it was made: in no other part */
    uint64_t others;                        /* other processes */
    uint64_t unexplained;                   /* nobody's by what NVML tells */
};

/* Of the device of that slot at the moment in question. at: the totals of its level; verdicts: on
 * PyTorch's blocks in the order of addresses, none on a device of CUDA's level. 0 or -ENOMEM. */
int mt_balance_find(struct mt_balance *balance, const struct mt_replay *replay, unsigned slot,
                    const struct mt_totals *at, const struct mt_segments *segments,
                    const struct mt_verdict *verdicts, size_t n);

#endif
