/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks that a thread made before. What a walk reads follows from its start and from the words on
 * the stack: if all are unchanged, so are its frames. A kept walk is therefore a layout: the places
 * that it read, found by the stack pointer. The sum of the words there leads to the stack's id in
 * one lookup, also if a layout has many stacks. No branch depends on what is found, only on whether
 * something is: a mispredicted branch costs more than all the rest.
 */
#ifndef MT_PRELOAD_SEEN_WALKS_H
#define MT_PRELOAD_SEEN_WALKS_H

#include "cache.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MT_SEEN_WORDS 60u /* longer walks are not kept */
#define MT_SEEN_STRIDE 4u /* words are summed up this many at a time */
#define MT_SEEN_WAYS 4u
#define MT_SEEN_SETS 128u
#define MT_SEEN_IDS 4096u /* stacks that a thread remembers; the oldest are evicted */
#define MT_SEEN_INDEX_BITS 13
/* After this many new walks in a row, only one in MT_SEEN_PAUSE is kept or looked up: a program may
 * reach one stack depth in any number of ways. */
#define MT_SEEN_FAILURES 256u
#define MT_SEEN_PAUSE 64u

/* For reading words at the places of another layout, which may lie between a frame's variables now.
 */
#define MT_READS_ANY_WORD __attribute__((no_sanitize("address")))

#define MT_WALK_MIX 0x9e3779b97f4a7c15u
__extension__ typedef unsigned __int128 mt_walk_sum;

/* Return a frame's part in the sum that identifies a walk. mixed is its address by MT_WALK_MIX;
 * factor is that to the power of its number, from 1. Two walks differ by the parts of the frames
 * that differ. */
static inline mt_walk_sum mt_walk_part(uint64_t mixed, uint64_t factor)
{
    return (mt_walk_sum)(mixed ^ mixed >> 32) * factor;
}

/* The start of a walk and its other inputs. */
struct mt_walk_start {
    uintptr_t back, sp, top; /* top: the stack's end */
    uint32_t forgotten;      /* mt_frame_rules_forgotten */
    int until_python;
};

struct mt_seen_walk {
    struct mt_walk_start start; /* top 0: no walk */
    uintptr_t bp;
    uint16_t needs_bp; /* the walk depends on the frame pointer */
    uint16_t n;
    uint32_t number;            /* among the thread's kept walks */
    uint16_t at[MT_SEEN_WORDS]; /* places that it read, in words above the stack pointer */
};

struct mt_seen_set {
    struct mt_seen_walk way[MT_SEEN_WAYS];
    uint32_t turn, failures, skipped;
};

/* The stack that a layout's words lead to, by their sum. */
struct mt_seen_id {
    mt_walk_sum words;
    uint32_t id;   /* 0: empty */
    uint32_t next; /* the one found after it the last time */
};

/* A thread's walks. Initialize with zeros. */
struct mt_seen_walks {
    struct mt_seen_set set[MT_SEEN_SETS];
    struct mt_seen_id id[MT_SEEN_IDS];        /* from 1, in order of arrival */
    uint16_t index[1u << MT_SEEN_INDEX_BITS]; /* into id, at the words' place or the next one */
    struct mt_seen_walk now;                  /* the current walk */
    uint64_t key[MT_SEEN_WORDS];              /* added to words before they are multiplied */
    uint32_t n_kept, n_ids, last;             /* last: the one found last */
};

static inline struct mt_seen_set *mt_seen_set(struct mt_seen_walks *walks, uintptr_t sp)
{
    return &walks->set[(sp >> 4 ^ sp >> 11) % MT_SEEN_SETS];
}

static inline bool mt_seen_is_worth_it(const struct mt_seen_set *set)
{
    return set->failures < MT_SEEN_FAILURES || set->skipped % MT_SEEN_PAUSE == 0;
}

static inline bool mt_begins_so(const struct mt_seen_walk *seen, const struct mt_walk_start *start,
                                uintptr_t bp)
{
    return seen->start.sp == start->sp && seen->start.back == start->back &&
           seen->start.top == start->top && seen->start.forgotten == start->forgotten &&
           seen->start.until_python == start->until_python && (!seen->needs_bp || seen->bp == bp);
}

/* Return the sum that identifies the words at a layout's places, and the stack that the walk ends
 * on. Two different sets of words collide once in 2^64. */
MT_READS_ANY_WORD static inline mt_walk_sum
mt_seen_words(const struct mt_seen_walks *walks, const struct mt_seen_walk *seen, uint32_t parent)
{
    const uintptr_t *stack = (const uintptr_t *)seen->start.sp;
    const uint16_t *at = seen->at, *end = at + seen->n;
    const uint64_t *key = walks->key;
    mt_walk_sum sum = (mt_walk_sum)(seen->number + parent * MT_WALK_MIX) << 64;
    _Static_assert(MT_SEEN_WORDS % MT_SEEN_STRIDE == 0, "with the surplus");
    for (; at < end; at += MT_SEEN_STRIDE, key += MT_SEEN_STRIDE) {
        sum += (mt_walk_sum)(stack[at[0]] + key[0]) * (stack[at[1]] + key[1]);
        sum += (mt_walk_sum)(stack[at[2]] + key[2]) * (stack[at[3]] + key[3]);
    }
    return sum;
}

static inline uint32_t mt_seen_place(mt_walk_sum words)
{
    uint64_t mixed = ((uint64_t)words ^ (uint64_t)(words >> 64)) * MT_WALK_MIX;
    return (uint32_t)(mixed >> (64 - MT_SEEN_INDEX_BITS));
}

/* Return which stack these words led to, or 0. Most often it is the one that came next the last
 * time. The two candidates are chosen between without a branch. */
static inline uint32_t mt_seen_words_led_to(struct mt_seen_walks *walks, mt_walk_sum words)
{
    uint32_t i = walks->id[walks->last].next;
    if (walks->id[i].words == words)
        return i;
    uint32_t place = mt_seen_place(words);
    place ^= walks->id[walks->index[place]].words != words;
    i = walks->index[place];
    if (walks->id[i].words != words)
        return 0;
    walks->id[walks->last].next = i;
    return i;
}

/* Return the id of the stack that an earlier walk with these words led to, on this parent, or 0. */
static inline uint32_t mt_seen_find(struct mt_seen_walks *walks, struct mt_seen_set *set,
                                    const struct mt_walk_start *start, uintptr_t bp,
                                    uint32_t parent)
{
    for (const struct mt_seen_walk *seen = set->way; seen < set->way + MT_SEEN_WAYS; seen++) {
        if (!mt_begins_so(seen, start, bp))
            continue;
        uint32_t i = mt_seen_words_led_to(walks, mt_seen_words(walks, seen, parent));
        if (!i)
            continue;
        walks->last = i;
        __builtin_prefetch(&walks->id[walks->id[i].next]);
        set->failures = 0;
        return walks->id[i].id;
    }
    set->failures++;
    return 0;
}

/* Begin a new walk. */
static inline struct mt_seen_walk *mt_seen_begin(struct mt_seen_walks *walks, uintptr_t sp,
                                                 uintptr_t bp)
{
    struct mt_seen_walk *seen = &walks->now;
    seen->start = (struct mt_walk_start){.sp = sp};
    seen->bp = bp;
    seen->needs_bp = seen->n = 0;
    return seen;
}

/* Note a word that the walk reads. */
static inline void mt_seen_read(struct mt_seen_walk *seen, uintptr_t address)
{
    uintptr_t at = (address - seen->start.sp) / sizeof(uintptr_t);
    if (seen->n < MT_SEEN_WORDS && at <= UINT16_MAX)
        seen->at[seen->n++] = (uint16_t)at;
    else
        seen->n = MT_SEEN_WORDS + 1; /* too long to keep */
}

/* Return a kept walk with the same start and places as this one, or NULL. */
static inline const struct mt_seen_walk *mt_seen_alike(const struct mt_seen_set *set,
                                                       const struct mt_seen_walk *now)
{
    for (const struct mt_seen_walk *seen = set->way; seen < set->way + MT_SEEN_WAYS; seen++)
        if (mt_begins_so(seen, &now->start, now->bp) && seen->n == now->n &&
            seen->needs_bp == now->needs_bp && !memcmp(seen->at, now->at, now->n * sizeof *now->at))
            return seen;
    return NULL;
}

/* Keep the layout of the current walk, replacing an older one. */
static inline const struct mt_seen_walk *mt_seen_keep_layout(struct mt_seen_walks *walks,
                                                             struct mt_seen_set *set)
{
    struct mt_seen_walk *place = &set->way[set->turn++ % MT_SEEN_WAYS];
    struct mt_seen_walk *now = &walks->now;
    for (unsigned i = 0; !walks->n_kept && i < MT_SEEN_WORDS; i++)
        walks->key[i] = mt_mix(mt_mix(0, i), MT_WALK_MIX);
    now->number = ++walks->n_kept;
    for (unsigned i = now->n; i % MT_SEEN_STRIDE; i++)
        now->at[i] = now->at[i - 1]; /* repeat the last one */
    *place = *now;
    return place;
}

/* Keep what the last walk led to. */
static inline void mt_seen_keep(struct mt_seen_walks *walks, uint32_t parent, uint32_t id)
{
    struct mt_seen_set *set = mt_seen_set(walks, walks->now.start.sp);
    const struct mt_seen_walk *seen = mt_seen_alike(set, &walks->now);
    mt_walk_sum words = mt_seen_words(walks, seen ? seen : mt_seen_keep_layout(walks, set), parent);
    uint32_t place = mt_seen_place(words), i = 1 + walks->n_ids++ % (MT_SEEN_IDS - 1);
    walks->id[i] = (struct mt_seen_id){words, id, 0};
    if (walks->index[place])
        walks->index[place ^ 1] = walks->index[place];
    walks->index[place] = (uint16_t)i;
}

#endif
