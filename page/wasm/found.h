/* SPDX-License-Identifier: Apache-2.0 */
/* A search in all blocks of a trace: what charts show pale, and what not. */
#ifndef MT_PAGE_FOUND_H
#define MT_PAGE_FOUND_H

#include "course.h"

/* Find the lives that a text is in, without regard to ASCII's case: in the category, type,
 * operator, module, line, or a frame of their stacks; "": all. A frame at one of the places is
 * found, too: "LINE FILE" each, before newlines. Return how many are found, or -ENOMEM. */
long mt_find_lives(struct mt_lives *lives, const struct mt_definitions *definitions,
                   const char *text, const char *places);

/* Write MT_CATEGORY_COUNT numbers a column of mt_bands: the bytes of found blocks by group. */
void mt_bands_found(const struct mt_lives *lives, const struct mt_range_shown *range, double *out);

#endif
