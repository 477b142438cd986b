/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator's settings: what PYTORCH_CUDA_ALLOC_CONF and PYTORCH_ALLOC_CONF say. */
#ifndef MT_PLANNER_CONF_H
#define MT_PLANNER_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "releases.h"

enum { MT_ROUNDUP_INTERVALS = 16 }; /* of sizes from 1 MiB to 64 GiB, by powers of two */

/* Sizes are bytes. mt_alloc_conf_init sets what an empty variable means. */
struct mt_alloc_conf {
    bool async; /* backend:cudaMallocAsync */
    bool expandable_segments;
    bool record_stream_reuse;        /* graph_capture_record_stream_reuse */
    bool throw_on_oom;               /* throw_on_cudamalloc_oom */
    uint64_t max_split_size;         /* UINT64_MAX: none */
    uint64_t max_non_split_rounding; /* unless it is given: large_segment_size */
    uint64_t large_segment_size;
    uint64_t expandable_reserve;         /* UINT64_MAX: 1 1/8 of the card */
    double expandable_reserve_fraction;  /* of the card, instead; 0: not given */
    double garbage_collection_threshold; /* 0: none */
    double memory_fraction;              /* per_process_memory_fraction */
    uint32_t
        roundup[MT_ROUNDUP_INTERVALS]; /* roundup_power2_divisions; 0: round to 512 bytes only */
};

struct mt_alloc_conf_error {
    char text[300]; /* what is wrong and what was expected: no "memtap:", no full stop, safe to
                       print */
};

void mt_alloc_conf_init(struct mt_alloc_conf *conf);
/*
 * Read what the variable would hold, by the rules of the release (an empty text changes nothing).
 * 0, or -EINVAL where PyTorch would refuse it (or ignore a word of it) with *error set; *conf is
 * then unchanged.
 */
int mt_alloc_conf_read(struct mt_alloc_conf *conf, struct mt_torch_release release,
                       const char *text, struct mt_alloc_conf_error *error);
/*
 * The settings as a text for PYTORCH_CUDA_ALLOC_CONF, "" for the default ones. Returns what it
 * takes without its NUL; at most `size` bytes are written, as snprintf does.
 */
size_t mt_alloc_conf_write(const struct mt_alloc_conf *conf, char *text, size_t size);

#endif
