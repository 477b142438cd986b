/* SPDX-License-Identifier: Apache-2.0 */
/* Find the known word that a mistyped one most likely means. */
#ifndef MT_NEAREST_H
#define MT_NEAREST_H

#include <stddef.h>

struct mt_nearest {
    const char *typed;
    size_t length;     /* of the typed word; the rest of the text is ignored */
    const char *found; /* the nearest word so far; NULL: none is near */
    unsigned distance; /* of `found` */
};

/* Begin with {.typed = WORD, .length = strlen(WORD)}, and offer each word that is known. */
void mt_nearest_offer(struct mt_nearest *nearest, const char *word);

/* "; did you mean 'BEFOREfound'?" or "". Returns out. */
const char *mt_nearest_text(const struct mt_nearest *nearest, const char *before, char *out,
                            size_t size);

#endif
