/* SPDX-License-Identifier: Apache-2.0 */
/* Texts with faults in them, the same in each run. */
#ifndef MT_TESTS_MUTATE_H
#define MT_TESTS_MUTATE_H

#include <stdint.h>
#include <string.h>

static inline uint64_t mt_any(uint64_t below)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

/* Up to `most` times cuts out a piece or puts a character in the place of another: mostly one of
 * the likely ones, the zero at their end included. The new size. */
static inline size_t mt_mutate(char *text, size_t size, const char *likely, unsigned most)
{
    for (uint64_t n = mt_any(most + 1); n && size; n--) {
        size_t at = mt_any(size), piece = 1 + mt_any(size - at) / (1 + mt_any(20));
        if (!mt_any(3)) {
            size -= piece;
            memmove(text + at, text + at + piece, size - at);
        } else {
            text[at] = mt_any(4) ? likely[mt_any(strlen(likely) + 1)] : (char)mt_any(256);
        }
    }
    return size;
}

#endif
