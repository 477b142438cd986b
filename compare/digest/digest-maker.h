/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of making a digest (digest-make.c): turn ids into names, and merge equal names.
 */
#ifndef MT_DIGEST_MAKER_H
#define MT_DIGEST_MAKER_H

#include "analyzer/print/kept-texts.h"
#include "digest.h"

struct mt_digest_maker {
    const struct mt_definitions *definitions;
    const char *directory;           /* the process's working directory, or "" */
    uint64_t *text;                  /* bytes of stacks so far */
    uint64_t *cut;                   /* sites whose stacks lack frames */
    struct mt_kept_texts *frames[2]; /* with lines, and without */
};

/* Return new texts; NULL: no memory. A stack's text is `first`, then its frames, the outermost
 * first. */
char *mt_maker_operator(const struct mt_digest_maker *taker, uint32_t node_name);
char *mt_maker_stack(const struct mt_digest_maker *taker, const char *first, uint32_t stack,
                     bool with_lines);

/* Name the innermost frame of a stack. Return 0 or -ENOMEM. Free both texts in any case. */
int mt_maker_line(const struct mt_digest_maker *taker, uint32_t stack, char **function, char **file,
                  uint32_t *line);

int mt_maker_places(const struct mt_digest_maker *taker, struct mt_digest_device *to,
                    const struct mt_places *places);
void mt_count_whole_run(struct mt_digest_device *to);

#endif
