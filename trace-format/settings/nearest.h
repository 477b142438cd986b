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
    const char *found; /* the nearest word so far; NULL: none is close */
    unsigned distance; /* of `found` */
};

/* Initialize with {.typed = WORD, .length = strlen(WORD)} and offer each known word. */
void mt_nearest_offer(struct mt_nearest *nearest, const char *word);

/* Write "; did you mean 'BEFOREfound'?" or "". Return out. */
const char *mt_nearest_text(const struct mt_nearest *nearest, const char *before, char *out,
                            size_t size);

/* Write words that are separated by blanks as a sentence has them: "outside, forward or optimizer".
 */
void mt_list_choices(char *out, size_t size, const char *choices);

/* Write the message for a word that is not in a list (separated by blanks): "unknown phase
 * 'forwrd'; did you mean 'forward'?", or the list if none is close. Return out. */
const char *mt_unknown_text(char out[MT_UNKNOWN_TEXT], const char *what, const char *typed,
                            size_t length, const char *choices);

#endif
