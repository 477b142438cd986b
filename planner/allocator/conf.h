/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator's settings, from PYTORCH_CUDA_ALLOC_CONF and PYTORCH_ALLOC_CONF. */
#ifndef MT_PLANNER_CONF_H
#define MT_PLANNER_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Differences between the allocators of PyTorch's releases, in one table. */

/* A release by its two numbers: 2.6 is {2, 6}. */
struct mt_torch_release {
    unsigned major, minor;
};

/* The columns of the table: what a release supports or does. A new one is a line here and a row
 * there. */
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
    MT_CAPTURES_ONLY,      /* only captures, not every MemPool, defer frees with several streams */
    MT_PREFERS_OLDEST,     /* prefers another than the lowest address among equal free blocks */
    MT_FALLS_BACK_EARLY,   /* tries a use_on_oom pool before freeing the cache */
    MT_N_TORCH_CHANGES
};

/* Return whether the release has the change. A release that is not in the table counts as the one
 * before it. */
bool mt_torch_has(struct mt_torch_release release, enum mt_torch_change change);
/* Parse "2.6", "2.6.0+cu124" or "2.15.0a0". Return false if the text does not begin with two such
 * numbers. */
bool mt_torch_read_release(const char *text, struct mt_torch_release *release);
/* Return the newest variable from which the release reads its settings. */
const char *mt_torch_variable(struct mt_torch_release release);

enum { MT_ROUNDUP_INTERVALS = 16 }; /* intervals of sizes from 1 MiB to 64 GiB, by powers of two */

/* Sizes are in bytes. mt_alloc_conf_init sets the defaults, as an empty variable does. */
struct mt_alloc_conf {
    bool async; /* backend:cudaMallocAsync */
    bool expandable_segments;
    bool record_stream_reuse;        /* graph_capture_record_stream_reuse */
    bool throw_on_oom;               /* throw_on_cudamalloc_oom */
    uint64_t max_split_size;         /* UINT64_MAX: none */
    uint64_t max_non_split_rounding; /* large_segment_size unless given */
    uint64_t large_segment_size;
    uint64_t expandable_reserve;         /* UINT64_MAX: 1 1/8 of the card */
    double expandable_reserve_fraction;  /* a fraction of the card instead; 0: not given */
    double garbage_collection_threshold; /* 0: none */
    double memory_fraction;              /* per_process_memory_fraction */
    uint32_t
        roundup[MT_ROUNDUP_INTERVALS]; /* roundup_power2_divisions; 0: round to 512 bytes only */
};

struct mt_alloc_conf_error {
    char text[300]; /* the message, without "memtap:" and a full stop, safe to print */
};

void mt_alloc_conf_init(struct mt_alloc_conf *conf);
/*
 * Parse the variable's text by the rules of the release; an empty text changes nothing. Return 0,
 * or -EINVAL with *error set if PyTorch would refuse it or ignore a word of it; *conf is then
 * unchanged.
 */
int mt_alloc_conf_read(struct mt_alloc_conf *conf, struct mt_torch_release release,
                       const char *text, struct mt_alloc_conf_error *error);

#endif
