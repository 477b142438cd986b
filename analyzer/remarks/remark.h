/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The largest part of the main device's memory that the program may not need, though its largest
 * category and line do not show it. The headline names it, with its line.
 */
#ifndef MT_REMARK_H
#define MT_REMARK_H

#include "analyzer/findings/analysis.h"

enum mt_remark_kind {
    MT_REMARK_NONE,
    MT_REMARK_COPIES,     /* of parameters, made by the line */
    MT_REMARK_PREVIOUS,   /* of the turn before, still there when the line makes more */
    MT_REMARK_RECOMPUTED, /* in backward, at once, for the checkpoint at the line */
    MT_REMARK_GRADIENTS,  /* for parameters that no optimizer has; most of them are of the line */
    MT_REMARK_GRAPH,    /* saved by an evaluation for a backward that never comes; most of it by the
                           line */
    MT_REMARK_FORWARDS, /* saved by several calls of the model at the line, for one backward */
    MT_REMARK_DOUBLES,  /* of float64; most of them are of the line */
    MT_REMARK_CONTEXT,  /* of another device, that is otherwise empty: its first allocation was
                         * made by the line */
    MT_REMARK_KINDS
};

struct mt_remark {
    enum mt_remark_kind kind;
    int device; /* CUDA's index */
    uint64_t bytes, blocks;
    uint32_t calls;             /* FORWARDS: of the model, else 0 */
    uint32_t line;              /* a stack whose innermost frame is the line; never 0 */
    const struct mt_rule *rule; /* COPIES: that says which copies they are; else NULL */
};

/* Return "weight_copies", "previous_turn", "recomputed", "untrained_gradients",
 * "evaluation_graph", "several_forwards", "float64", "context". */
const char *mt_remark_name(enum mt_remark_kind kind);

/* Find it: a tenth of what is allocated or more, with a known line. 0 or -ENOMEM: then it is none.
 */
int mt_remark_find(struct mt_remark *remark, const struct mt_analysis *analysis);

#endif
