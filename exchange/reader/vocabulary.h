/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of a column, each once, as Arrow has a dictionary: bytes one after the other, and where
 * each begins.
 */
#ifndef MT_VOCABULARY_H
#define MT_VOCABULARY_H

#include <stddef.h>
#include <stdint.h>

struct mt_vocabulary {
    char *bytes;
    size_t size, bytes_capacity;
    int32_t *offset; /* n + 1 of them, the last one is size; NULL: no text yet */
    size_t n, offset_capacity;
    uint32_t *slot; /* by hash: index + 1; 0: free */
    uint32_t *hash; /* by index */
    size_t hash_capacity;
    uint32_t mask;
};

/* The number of a text, which is added if it is new; what is not UTF-8 in it becomes U+FFFD. -1: no
 * memory, or more than 2 GiB of texts. Texts of zeros are none. */
int32_t mt_vocabulary_add(struct mt_vocabulary *texts, const char *text);
void mt_vocabulary_clear(struct mt_vocabulary *texts);

#endif
