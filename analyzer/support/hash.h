/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a, for tables in memory: two texts of one hash are rare, not impossible. */
#ifndef MT_HASH_H
#define MT_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MT_HASH_SEED UINT64_C(0xcbf29ce484222325)

/* Return the hash of what was hashed before (or a seed) and these bytes. */
static inline uint64_t mt_hash(uint64_t before, const void *bytes, size_t size)
{
    for (const unsigned char *at = bytes, *end = at + size; at < end; at++)
        before = (before ^ *at) * UINT64_C(0x100000001b3);
    return before;
}

/* Hash likewise a text, and the zero that ends it, so that "a", "bc" is not "ab", "c". */
static inline uint64_t mt_hash_text(uint64_t before, const char *text)
{
    return mt_hash(before, text, strlen(text) + 1);
}

/* Hash likewise a number, all of whose bits count. */
static inline uint64_t mt_hash_number(uint64_t before, uint64_t number)
{
    before ^= number * UINT64_C(0x9e3779b97f4a7c15);
    before = (before ^ (before >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    return before ^ (before >> 32);
}

#endif
