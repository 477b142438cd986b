/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of numbered things, such as frames, that were written last: many stacks have frames in
 * common.
 */
#ifndef MT_KEPT_TEXTS_H
#define MT_KEPT_TEXTS_H

#include <stdint.h>
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

#endif
