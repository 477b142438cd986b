/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory left from iteration to iteration: the lines with blocks from several earlier iterations
 * that are live at the moment.
 */
#ifndef MT_GROWTH_H
#define MT_GROWTH_H

#include "analyzer/classify/classify.h"
#include "analyzer/model/spans.h"

struct mt_growth_site {
    uint32_t line;               /* the stack of one of them: mt_line_stack */
    enum mt_category category;   /* of all of them */
    enum mt_certainty certainty; /* of the category, for the block where it is least */
    uint32_t iterations;         /* that left blocks */
    uint64_t bytes;              /* of these blocks */
};

struct mt_growth {
    uint64_t per_iteration;      /* bytes; 0: nothing grows */
    struct mt_growth_site *site; /* the largest first */
    size_t n;
};

/* Find growth among a device's blocks at a moment of an iteration. 0 or -ENOMEM. Call
 * mt_growth_clear in any case. */
int mt_growth_find(struct mt_growth *growth, const struct mt_spans *spans, uint32_t iteration,
                   const struct mt_definitions *definitions, const struct mt_verdict *verdicts,
                   size_t n);
void mt_growth_clear(struct mt_growth *growth);

#endif
