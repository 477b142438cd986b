/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks that a thread made before. The words of the stack that a walk reads follow from its begin
 * and from the words themselves: if all are unchanged, so are its frames. The words lie in one
 * piece here, while rules (rules.h) take a cache line for each frame. Walks are found by the stack
 * pointer.
 */
#ifndef MT_PRELOAD_SEEN_WALKS_H
#define MT_PRELOAD_SEEN_WALKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_SEEN_WORDS 60u /* longer walks are not kept */
#define MT_SEEN_WAYS 4u
#define MT_SEEN_SETS 128u
/* After so many new walks in a row, only one in MT_SEEN_PAUSE is kept or looked up: a program may
 * reach one depth of its stack in any number of ways. */
#define MT_SEEN_FAILURES 8u
#define MT_SEEN_PAUSE 64u

/* Where a walk begins, and its other inputs. */
struct mt_walk_start {
    uintptr_t back, sp, top; /* top: the stack's end */
    uint32_t forgotten;      /* mt_frame_rules_forgotten */
    int until_python;
};

struct mt_seen_walk {
    struct mt_walk_start start; /* top 0: no walk */
    uintptr_t bp;
    uint16_t needs_bp; /* another frame pointer would change the walk */
    uint16_t n;
    uint64_t a, b;
    uint16_t at[MT_SEEN_WORDS];    /* places that it read, in words above the stack pointer, */
    uintptr_t word[MT_SEEN_WORDS]; /* and their values */
};

struct mt_seen_set {
    struct mt_seen_walk way[MT_SEEN_WAYS];
    uint32_t turn, failures, skipped;
};

/* A thread's walks. Zeros at first. */
struct mt_seen_walks {
    struct mt_seen_set set[MT_SEEN_SETS];
};

static inline struct mt_seen_set *mt_seen_set(struct mt_seen_walks *walks, uintptr_t sp)
{
    return &walks->set[(sp >> 4 ^ sp >> 11) % MT_SEEN_SETS];
}

static inline bool mt_seen_is_worth_it(struct mt_seen_set *set)
{
    return set->failures < MT_SEEN_FAILURES || ++set->skipped % MT_SEEN_PAUSE == 0;
}

static inline int mt_begins_so(const struct mt_seen_walk *seen, const struct mt_walk_start *start,
                               uintptr_t bp)
{
    return seen->start.sp == start->sp && seen->start.back == start->back &&
           seen->start.top == start->top && seen->start.forgotten == start->forgotten &&
           seen->start.until_python == start->until_python && (!seen->needs_bp || seen->bp == bp);
}

/* Return a kept walk that this one would repeat; NULL: none. */
static inline const struct mt_seen_walk *
mt_seen_find(struct mt_seen_set *set, const struct mt_walk_start *start, uintptr_t bp)
{
    const uintptr_t *stack = (const uintptr_t *)start->sp;
    for (const struct mt_seen_walk *seen = set->way; seen < set->way + MT_SEEN_WAYS; seen++) {
        if (!mt_begins_so(seen, start, bp))
            continue;
        unsigned i = 0;
        while (i < seen->n && stack[seen->at[i]] == seen->word[i])
            i++;
        if (i < seen->n)
            continue;
        set->failures = 0;
        return seen;
    }
    set->failures++;
    return NULL;
}

/* Begin a new walk in place of an older one. */
static inline struct mt_seen_walk *mt_seen_begin(struct mt_seen_set *set, uintptr_t sp,
                                                 uintptr_t bp)
{
    struct mt_seen_walk *seen = &set->way[set->turn++ % MT_SEEN_WAYS];
    seen->start = (struct mt_walk_start){.sp = sp};
    seen->bp = bp;
    seen->needs_bp = seen->n = 0;
    return seen;
}

/* Note a word that the walk reads. */
static inline void mt_seen_read(struct mt_seen_walk *seen, uintptr_t address)
{
    uintptr_t at = (address - seen->start.sp) / sizeof(uintptr_t);
    if (seen->n < MT_SEEN_WORDS && at <= UINT16_MAX) {
        seen->at[seen->n] = (uint16_t)at;
        seen->word[seen->n++] = *(const uintptr_t *)address;
    } else {
        seen->n = MT_SEEN_WORDS + 1; /* too long, for good */
    }
}

static inline void mt_seen_keep(struct mt_seen_walk *seen, const struct mt_walk_start *start,
                                uint64_t a, uint64_t b)
{
    if (seen->n > MT_SEEN_WORDS)
        return;
    seen->a = a;
    seen->b = b;
    seen->start = *start;
}

#endif
