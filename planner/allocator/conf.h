/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator's settings: what PYTORCH_CUDA_ALLOC_CONF and PYTORCH_ALLOC_CONF say. */
#ifndef MT_PLANNER_CONF_H
#define MT_PLANNER_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What releases of PyTorch do differently in their allocator: one table. */

/* A release by its two numbers: 2.6 is {2, 6}. */
struct mt_torch_release {
    unsigned major, minor;
};

/* The columns of the table: what a release has, or does. A new one is a line here and a row there.
 */
enum mt_torch_change {
    MT_HAS_EXPANDABLE, /* expandable_segments */
    /* roundup_power2_divisions has intervals without divisions; and the sizes of an interval with
     * one are rounded to 512 bytes, which were not rounded at all before */
    MT_HAS_ROUNDUP_0,
    MT_EXPANDS_PRIVATE,    /* private pools have expandable segments too */
    MT_HAS_MAX_NON_SPLIT,  /* max_non_split_rounding_mb */
    MT_HAS_RECORD_REUSE,   /* graph_capture_record_stream_reuse */
    MT_HAS_CONF_FRACTION,  /* per_process_memory_fraction in the settings */
    MT_HAS_LARGE_SEGMENT,  /* large_segment_size_mb */
    MT_HAS_THROW_ON_OOM,   /* throw_on_cudamalloc_oom */
    MT_HAS_RESERVE,        /* expandable_segments_reserve */
    MT_HAS_ALLOC_CONF,     /* the variable PYTORCH_ALLOC_CONF, and another reader of the settings */
    MT_FRACTION_1_IS_NONE, /* a memory fraction of 1 sets no limit */
    MT_FREES_ONE_POOL,     /* empty_cache within a MemPool frees that pool only */
    MT_CAPTURES_ONLY,      /* only captures, not each MemPool, hold frees of several streams back */
    MT_PREFERS_OLDEST,     /* among equal free blocks: not the one of the lowest address */
    MT_FALLS_BACK_EARLY,   /* a pool for use on OOM is tried before the cache is freed */
    MT_N_TORCH_CHANGES
};

/* Return whether the release has the change. Releases that are not in the table are as the one
 * before them. */
bool mt_torch_has(struct mt_torch_release release, enum mt_torch_change change);
/* Read "2.6", "2.6.0+cu124" or "2.15.0a0": false if the text begins with no such two numbers. */
bool mt_torch_read_release(const char *text, struct mt_torch_release *release);
/* Return the newest variable from which the release reads its settings. */
const char *mt_torch_variable(struct mt_torch_release release);

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

#endif
