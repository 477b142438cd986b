/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks that a thread made before. The words of the stack that a walk reads follow from its begin
 * and from the words themselves: if all are unchanged, so are its frames. If another return address
 * has the rule (rules.h) of the one that was there, the walk goes on as it did: so each address
 * that was met at a place once serves in all walks of this layout, also in ways that never came
 * together. The words lie in one piece here, while rules take a cache line for each frame. Walks
 * are found by the stack pointer.
 */
#ifndef MT_PRELOAD_SEEN_WALKS_H
#define MT_PRELOAD_SEEN_WALKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MT_SEEN_WORDS 60u /* longer walks are not kept */
#define MT_SEEN_STRIDE 4u /* words are compared in so many at a time */
#define MT_SEEN_WAYS 4u
#define MT_SEEN_SETS 128u
#define MT_OTHER_BITS 10
/* After so many new walks in a row, only one in MT_SEEN_PAUSE is kept or looked up: a program may
 * reach one depth of its stack in any number of ways. */
#define MT_SEEN_FAILURES 8u
#define MT_SEEN_PAUSE 64u

/* Words at the places of another layout, which may lie between a frame's variables now. */
#define MT_READS_ANY_WORD __attribute__((no_sanitize("address")))

#define MT_WALK_MIX 0x9e3779b97f4a7c15u
__extension__ typedef unsigned __int128 mt_walk_sum;

/* Return a frame's part in the sum that stands for a walk. mixed: its address by MT_WALK_MIX;
 * factor: that to the power of its number, from 1 on. Two walks differ by the parts of the frames
 * that do. */
static inline mt_walk_sum mt_walk_part(uint64_t mixed, uint64_t factor)
{
    return (mt_walk_sum)(mixed ^ mixed >> 32) * factor;
}

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
    uint32_t number; /* among the thread's kept walks */
    mt_walk_sum sum;
    uint16_t at[MT_SEEN_WORDS];    /* places that it read, in words above the stack pointer, */
    uintptr_t word[MT_SEEN_WORDS]; /* and their values */
    uint16_t frame[MT_SEEN_WORDS]; /* a return address: its frame's number; else 0 */
};

struct mt_seen_set {
    struct mt_seen_walk way[MT_SEEN_WAYS];
    uint32_t turn, failures, skipped;
};

/* A return address that may stand in place of a kept walk's. */
struct mt_other_word {
    uintptr_t word;
    uint64_t place; /* the walk's number and the word's; 0: none */
    mt_walk_sum more;
};

/* A thread's walks. Zeros at first. */
struct mt_seen_walks {
    struct mt_seen_set set[MT_SEEN_SETS];
    struct mt_other_word other[1u << MT_OTHER_BITS];
    struct mt_seen_walk now; /* that is being made */
    uint32_t n_kept;
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

static inline struct mt_other_word *mt_seen_other(struct mt_seen_walks *walks,
                                                  const struct mt_seen_walk *seen, unsigned i,
                                                  uintptr_t word, uint64_t *place)
{
    *place = (uint64_t)seen->number * MT_SEEN_WORDS + i;
    return &walks->other[(word ^ *place << 40) * MT_WALK_MIX >> (64 - MT_OTHER_BITS)];
}

/* Add what the changed words change. Return false if one of them is not
 * known. */
MT_READS_ANY_WORD static inline bool mt_seen_exchange(struct mt_seen_walks *walks,
                                                      const struct mt_seen_walk *seen,
                                                      uint64_t changed, mt_walk_sum *sum)
{
    const uintptr_t *stack = (const uintptr_t *)seen->start.sp;
    for (; changed; changed &= changed - 1) {
        unsigned i = seen->n - 1u - (unsigned)__builtin_ctzll(changed);
        uint64_t place;
        uintptr_t word = stack[seen->at[i]];
        const struct mt_other_word *other = mt_seen_other(walks, seen, i, word, &place);
        if (other->word != word || other->place != place)
            return false;
        *sum += other->more;
    }
    return true;
}

/* Return which words have changed, a bit each, the last one lowest. Without a branch for each: any
 * may have. */
MT_READS_ANY_WORD static inline uint64_t mt_seen_changed(const struct mt_seen_walk *seen)
{
    const uintptr_t *stack = (const uintptr_t *)seen->start.sp, *word = seen->word;
    const uint16_t *at = seen->at, *end = at + seen->n;
    uint64_t changed = 0;
    _Static_assert(MT_SEEN_WORDS <= 64 && MT_SEEN_WORDS % MT_SEEN_STRIDE == 0, "with the surplus");
    for (; at < end; at += MT_SEEN_STRIDE, word += MT_SEEN_STRIDE) {
        changed = 2 * changed + (stack[at[0]] != word[0]);
        changed = 2 * changed + (stack[at[1]] != word[1]);
        changed = 2 * changed + (stack[at[2]] != word[2]);
        changed = 2 * changed + (stack[at[3]] != word[3]);
    }
    return changed >> (at - end);
}

/* Return whether this walk would repeat a kept one, or one that follows from those, with its sum.
 */
static inline bool mt_seen_find(struct mt_seen_walks *walks, struct mt_seen_set *set,
                                const struct mt_walk_start *start, uintptr_t bp, mt_walk_sum *sum)
{
    for (const struct mt_seen_walk *seen = set->way; seen < set->way + MT_SEEN_WAYS; seen++) {
        if (!mt_begins_so(seen, start, bp))
            continue;
        uint64_t changed = mt_seen_changed(seen);
        *sum = seen->sum;
        if (changed && !mt_seen_exchange(walks, seen, changed, sum))
            continue;
        set->failures = 0;
        return true;
    }
    set->failures++;
    return false;
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

/* Note a word that the walk reads. frame: the number of the frame that it returns to; 0: of none.
 */
static inline void mt_seen_read(struct mt_seen_walk *seen, uintptr_t address, unsigned frame)
{
    uintptr_t at = (address - seen->start.sp) / sizeof(uintptr_t);
    if (seen->n < MT_SEEN_WORDS && at <= UINT16_MAX) {
        seen->at[seen->n] = (uint16_t)at;
        seen->frame[seen->n] = (uint16_t)frame;
        seen->word[seen->n++] = *(const uintptr_t *)address;
    } else {
        seen->n = MT_SEEN_WORDS + 1; /* too long, for good */
    }
}

/* Return a kept walk with the begin and the places of this one; NULL: none. */
static inline const struct mt_seen_walk *mt_seen_alike(const struct mt_seen_set *set,
                                                       const struct mt_seen_walk *now)
{
    for (const struct mt_seen_walk *seen = set->way; seen < set->way + MT_SEEN_WAYS; seen++)
        if (mt_begins_so(seen, &now->start, now->bp) && seen->n == now->n &&
            seen->needs_bp == now->needs_bp &&
            !memcmp(seen->at, now->at, now->n * sizeof *now->at) &&
            !memcmp(seen->frame, now->frame, now->n * sizeof *now->frame))
            return seen;
    return NULL;
}

/* Keep the walk that was made, in place of an older one. */
static inline void mt_seen_keep(struct mt_seen_walks *walks, struct mt_seen_set *set)
{
    struct mt_seen_walk *place = &set->way[set->turn++ % MT_SEEN_WAYS];
    struct mt_seen_walk *now = &walks->now;
    now->number = ++walks->n_kept;
    for (unsigned i = now->n; i % MT_SEEN_STRIDE; i++) { /* the last one again */
        now->at[i] = now->at[i - 1];
        now->word[i] = now->word[i - 1];
    }
    *place = *now;
}

#endif
