/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines that keep memory from returning to CUDA, because their blocks are in mostly free
 * segments.
 */
#ifndef MT_PINS_H
#define MT_PINS_H

#include "analyzer/replay/segments.h"

#define MT_PINS_KEPT 8u

struct mt_pin {
    uint32_t stack;
    enum mt_category category;
    enum mt_certainty certainty;      /* of the category, for the block where it is least */
    uint64_t segments, blocks, bytes; /* bytes of the blocks */
    uint64_t free;                    /* free bytes in these segments */
};

struct mt_pins {
    struct mt_pin pin[MT_PINS_KEPT]; /* the most free bytes first */
    size_t n;
};

/* Find what pins segments. verdicts: the same as for the segments. pools: bits of enum mt_pool.
 * Return 0 or -ENOMEM. */
int mt_pins_find(struct mt_pins *pins, const struct mt_segments *segments, unsigned pools,
                 const struct mt_verdict *verdicts, const struct mt_definitions *definitions);

#endif
