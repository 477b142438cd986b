/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of numbered things, such as frames, that were written last: many stacks have frames in
 * common.
 */
#ifndef MT_KEPT_TEXTS_H
#define MT_KEPT_TEXTS_H

#include "analyzer/trace/definitions.h"

#include <stdio.h>

struct mt_kept_texts;

/* Return NULL if there is no memory. destroy takes NULL as well. */
struct mt_kept_texts *mt_kept_texts_create(void);
void mt_kept_texts_destroy(struct mt_kept_texts *texts);

/* Write the text of a number: the one that was kept, or what `put` writes, which returns 0 or a
 * negative errno. The same, or -ENOMEM or -EIO. */
int mt_put_kept(FILE *out, struct mt_kept_texts *texts, uint32_t number,
                int (*put)(FILE *out, const void *data, uint32_t argument), const void *data,
                uint32_t argument);

/* Fold a stack: write its frames from the outermost on, with ';' between them, each by `put` with
 * its stack; the first `head`, the number of those between, the last `tail`. 0 or a negative errno.
 */
int mt_fold_stack(FILE *out, struct mt_kept_texts *texts, const struct mt_definitions *definitions,
                  uint32_t stack, uint32_t head, uint32_t tail,
                  int (*put)(FILE *out, const void *data, uint32_t stack), const void *data);

#endif
