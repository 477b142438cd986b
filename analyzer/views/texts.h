/* SPDX-License-Identifier: Apache-2.0 */
/* Texts without one that is there twice, in the order in which they came. */
#ifndef MT_TEXTS_H
#define MT_TEXTS_H

#include <stddef.h>
#include <stdint.h>

/* Of zeros: empty. */
struct mt_texts {
    char **text;               /* its own copies, valid UTF-8 */
    size_t n, capacity, bytes; /* bytes: of all, without their ends */
    uint32_t *slots;           /* place in text + 1; 0: free */
    size_t n_slots;            /* a power of two */
};

/* Add a text unless it is there; what is not UTF-8 in it becomes U+FFFD. *index is its place. 0 or
 * -ENOMEM. */
int mt_texts_add(struct mt_texts *texts, const char *text, uint32_t *index);

/* Join all as Arrow has them: bytes one after the other, and where each begins and the last one
 * ends. Both are to be freed. 0 or -ENOMEM, also where it is more than 2 GiB. */
int mt_texts_join(const struct mt_texts *texts, int32_t **offsets, char **bytes);

void mt_texts_clear(struct mt_texts *texts);

#endif
