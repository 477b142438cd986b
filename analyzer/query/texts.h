/* SPDX-License-Identifier: Apache-2.0 */
/* A set of distinct texts, in insertion order. */
#ifndef MT_TEXTS_H
#define MT_TEXTS_H

#include <stddef.h>
#include <stdint.h>

/* A zeroed set is empty. */
struct mt_texts {
    char **text;               /* its own copies, valid UTF-8 */
    size_t n, capacity, bytes; /* bytes of all texts, without terminators */
    uint32_t *slots;           /* place in text + 1; 0: free */
    size_t n_slots;            /* a power of two */
};

/* Add a text unless it exists; invalid UTF-8 becomes U+FFFD. Set *index to its index. Return 0 or
 * -ENOMEM. */
int mt_texts_add(struct mt_texts *texts, const char *text, uint32_t *index);

/* Join all texts in Arrow's layout: concatenated bytes, and n + 1 offsets. The caller frees both.
 * Return 0, or -ENOMEM, also if there are more than 2 GiB. */
int mt_texts_join(const struct mt_texts *texts, int32_t **offsets, char **bytes);

void mt_texts_clear(struct mt_texts *texts);

#endif
