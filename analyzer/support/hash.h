/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a, for tables in memory. Collisions are rare but possible. */
#ifndef MT_HASH_H
#define MT_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MT_HASH_SEED UINT64_C(0xcbf29ce484222325)

/* Return a hash continued from `hash` (or a seed) with these bytes. */
static inline uint64_t mt_hash(uint64_t before, const void *bytes, size_t size)
{
    for (const unsigned char *at = bytes, *end = at + size; at < end; at++)
        before = (before ^ *at) * UINT64_C(0x100000001b3);
    return before;
}

/* Hash a text with its terminator, so that "a", "bc" differs from "ab", "c". */
static inline uint64_t mt_hash_text(uint64_t before, const char *text)
{
    return mt_hash(before, text, strlen(text) + 1);
}

/* Hash all bits of a number. */
static inline uint64_t mt_hash_number(uint64_t before, uint64_t number)
{
    before ^= number * UINT64_C(0x9e3779b97f4a7c15);
    before = (before ^ (before >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    return before ^ (before >> 32);
}

#endif
