/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call sites: the blocks that were live at a peak, put together by category, line of the user's
 * code and, for what backward made, operator.
 */
#ifndef MT_SITES_H
#define MT_SITES_H

#include "analyzer/classify/classify.h"
#include "analyzer/model/heap.h"

struct mt_site {
    uint64_t bytes, blocks;
    enum mt_category category;
    uint32_t stack;     /* one whose innermost frame is the line; 0: not known */
    uint32_t node_name; /* string id of the backward node's type: stack is its forward line */
    uint32_t name;      /* string id: what the program calls it; 0: nothing */
    const char *guess;  /* the rule by which the category is guessed; NULL: it is none */
};

struct mt_sites {
    struct mt_site *site; /* the largest first */
    size_t n;
};

/* Groups the blocks. 0 or -ENOMEM. Cleared with mt_sites_clear. */
int mt_sites_collect(struct mt_sites *sites, const struct mt_definitions *definitions,
                     const struct mt_verdict *verdicts, size_t n);
void mt_sites_clear(struct mt_sites *sites);

/* The stack of the nearest caller in the user's own code where a site lies in an installed
 * package; 0 where it does not, or none is known. */
uint32_t mt_site_caller(const struct mt_definitions *definitions, const struct mt_site *site);

#endif
