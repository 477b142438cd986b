/* SPDX-License-Identifier: Apache-2.0 */
/* Find the known word that a mistyped one most likely means. */
#ifndef MT_NEAREST_H
#define MT_NEAREST_H

#include <stddef.h>

#define MT_UNKNOWN_TEXT 512
#define MT_TYPED_SHOWN 40 /* bytes of a wrong word */

struct mt_nearest {
    const char *typed;
    size_t length;     /* of the typed word; the rest of the text is ignored */
    const char *found; /* the nearest word so far; NULL: none is near */
    unsigned distance; /* of `found` */
};

/* Begin with {.typed = WORD, .length = strlen(WORD)}, and offer each word that is known. */
void mt_nearest_offer(struct mt_nearest *nearest, const char *word);

/* Write "; did you mean 'BEFOREfound'?" or "". Return out. */
const char *mt_nearest_text(const struct mt_nearest *nearest, const char *before, char *out,
                            size_t size);

/* Write words with blanks between them as a person does: "outside, forward or optimizer". */
void mt_list_choices(char *out, size_t size, const char *choices);

/* Write what every command says of a word that is none of a list's (blanks between them): "unknown
 * phase 'forwrd'; did you mean 'forward'?", or which there are, if none is near. Returns out. */
const char *mt_unknown_text(char out[MT_UNKNOWN_TEXT], const char *what, const char *typed,
                            size_t length, const char *choices);

#endif
