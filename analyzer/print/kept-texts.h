/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of texts of numbered items, such as frames: many stacks share frames.
 */
#ifndef MT_KEPT_TEXTS_H
#define MT_KEPT_TEXTS_H

#include "analyzer/trace/definitions.h"

#include <stdio.h>

struct mt_kept_texts;

/* Create returns NULL without memory; destroy accepts NULL. */
struct mt_kept_texts *mt_kept_texts_create(void);
void mt_kept_texts_destroy(struct mt_kept_texts *texts);

/* Write a number's text, from the cache or by `put`, which returns 0 or a negative errno. Return
 * its result, -ENOMEM or -EIO. */
int mt_put_kept(FILE *out, struct mt_kept_texts *texts, uint32_t number,
                int (*put)(FILE *out, const void *data, uint32_t argument), const void *data,
                uint32_t argument);

/* Fold a stack: write its frames from the outermost, separated by ';', each by `put` with its
 * stack: the first `head`, the number of omitted ones, and the last `tail`. Return 0 or a negative
 * errno. */
int mt_fold_stack(FILE *out, struct mt_kept_texts *texts, const struct mt_definitions *definitions,
                  uint32_t stack, uint32_t head, uint32_t tail,
                  int (*put)(FILE *out, const void *data, uint32_t stack), const void *data);

#endif
