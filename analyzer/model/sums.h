/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums by key: the bytes and the count of what has the same numbers. Every grouping of blocks is
 * one.
 */
#ifndef MT_SUMS_H
#define MT_SUMS_H

#include <stddef.h>
#include <stdint.h>

#define MT_SUM_KEYS 5u
#define MT_SUM_CERTAINTIES 3u

struct mt_sum {
    uint64_t bytes, blocks;
    uint64_t unused;           /* bytes of blocks beyond what was requested, as far as known */
    uint32_t key[MT_SUM_KEYS]; /* zeros behind those that count */
    uint32_t stack;            /* of the largest block; the lowest of several */
    const char *guess;         /* of the largest block that has one; NULL: none has */
    const char *copy;          /* which copy the largest block is; NULL: it is none */
    uint64_t largest, largest_guess; /* bytes of these blocks */
    unsigned certainty;              /* of the least certain block, an enum mt_certainty */
    uint64_t of_certainty[MT_SUM_CERTAINTIES]; /* bytes */
};

/* Sums of zeros are empty. */
struct mt_sums {
    struct mt_sum *sum;
    size_t n, capacity;     /* n: also of sums that mt_sums_sort puts together */
    uint64_t bytes, blocks; /* in all */
};

/* Add a block: its key, stack and guess. 0 or -ENOMEM. */
int mt_sums_add(struct mt_sums *sums, uint64_t bytes, const struct mt_sum *block);

/* Add a block by its stack alone. */
static inline int mt_sums_count(struct mt_sums *sums, uint32_t stack, uint64_t bytes)
{
    return mt_sums_add(sums, bytes, &(struct mt_sum){.key = {stack}, .stack = stack});
}

/* Put equal keys together, the largest sum first, then by key. Call before looking at the sums. */
void mt_sums_sort(struct mt_sums *sums);

void mt_sums_clear(struct mt_sums *sums);

#endif
