/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A breakdown of a device's used memory (device_memory), besides PyTorch's blocks.
 */
#ifndef MT_BALANCE_H
#define MT_BALANCE_H

#include "analyzer/model/cuda-level.h"
#include "analyzer/replay/replay.h"
#include "analyzer/replay/segments.h"

#include <stdbool.h>

#define MT_BALANCE_PARTS 6u

struct mt_balance {
    bool known;     /* there is a sample; otherwise only pytorch, cuda and the parts are known */
    bool knows_own; /* NVML gave this process's memory; else runtime includes other processes */
    uint64_t sample_time_ns;
    uint64_t total, used; /* the device's size; used: at the moment */
    uint64_t sampled;     /* used at the sample, as reported by the device */
    uint64_t pytorch;     /* reserved by PyTorch's allocator */
    uint64_t cuda;        /* other memory from this process's CUDA calls, by parts: */
    struct mt_balance_part {
        char name[96]; /* a library, a Python line, or the call */
        uint64_t bytes, blocks;
    } part[MT_BALANCE_PARTS]; /* the largest first */
    size_t n_parts;
    /* PyTorch's segments without a block, by MemPool, or else by the range or line of the request.
     */
    struct mt_balance_part empty[MT_BALANCE_PARTS];
    size_t n_empty;
    struct {
        uint64_t communicators, bytes; /* at the moment; bytes: of its calls, in cuda */
    } nccl;
    uint64_t runtime; /* this process's other memory: context, CUDA modules */
    uint64_t first;   /* part of it that the first sample had */
    struct mt_cuda_object_counts objects, since; /* at the sample; created since the first sample */
    struct mt_imported imported; /* counted in the allocating process, in no other part */
    uint64_t others;             /* other processes */
    uint64_t unexplained;        /* of no process that NVML lists */
};

/* Return whether a part is NCCL's. */
bool mt_balance_is_nccl(const struct mt_balance_part *part);

/* Compute the balance of the slot's device at the moment. at: the totals of its level; verdicts: of
 * PyTorch's blocks by address, none on a device of CUDA's level. Return 0 or -ENOMEM. */
int mt_balance_find(struct mt_balance *balance, const struct mt_replay *replay, unsigned slot,
                    const struct mt_totals *at, const struct mt_verdict *verdicts, size_t n);

#endif
