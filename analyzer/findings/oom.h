/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why memory ran out: the last out-of-memory of an analysis whose moment is MT_AT_OOM.
 */
#ifndef MT_OOM_H
#define MT_OOM_H

#include "analysis.h"

#define MT_ADVICE_KEPT 6u

/* The stack from whose first frame the user's line on is: where it ran out, or else where the
 * backward node that ran was made; 0: neither is known. */
uint32_t mt_oom_line(const struct mt_definitions *definitions, const struct mt_oom *oom);

/* The forward line of the node that ran, where that is another; 0: none, or not known. */
uint32_t mt_oom_forward_line(const struct mt_definitions *definitions, const struct mt_oom *oom);

struct mt_advice {
    const char *what;
    uint64_t bytes; /* that it would save */
};

struct mt_oom_story {
    const struct mt_oom *oom;
    const struct mt_device *device;
    enum mt_pool pool;
    uint64_t segment;   /* bytes that PyTorch had to ask CUDA for */
    uint64_t cached;    /* reserved - allocated */
    uint64_t usable;    /* of that, what is not in private pools of graphs and MemPools, nor known
                         * to be in the pool for blocks of other sizes */
    uint64_t on_card;   /* bytes free there beside what PyTorch reserved; 0: none, not known */
    uint64_t missed_by; /* bytes that are too few even when all that is usable counts; 0: none */
    int would_fit_expandable; /* as far as is known: without the segments, it is not */
    int knows_pieces; /* the segments are in the trace */
    uint64_t fitting; /* bytes in pieces that were large enough: of other streams or pools */
    struct mt_pins pins;
    struct mt_advice advice[MT_ADVICE_KEPT];
    size_t n_advice;
    const struct mt_span *span;    /* where the program was */
    uint64_t this_most, last_most; /* the most that this iteration and the one before reached */
};

/* 0, -ENOENT where memory never ran out, -ENOMEM. It points into the analysis. */
int mt_oom_explain(struct mt_oom_story *story, const struct mt_analysis *analysis);

#endif
