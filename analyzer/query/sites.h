/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call sites: the blocks that were live at a peak, grouped by category, line of the user's code
 * and, for blocks from backward, operator.
 */
#ifndef MT_SITES_H
#define MT_SITES_H

#include "analyzer/holders/holder-words.h"
#include "query.h"

struct mt_site {
    uint64_t bytes, blocks;
    enum mt_category category;
    uint32_t stack;     /* a stack whose innermost frame is the line; 0: unknown */
    uint32_t whole;     /* if requested: the common stack of all its blocks; else 0 */
    uint32_t node_name; /* string id of the backward node's type: stack is its forward line */
    uint32_t name;      /* string id: the program's name for it; 0: none */
    const char *guess;  /* the rule that guessed the category; NULL: not a guess */
    const char *copy;   /* the rule that says which copy of parameters it is; NULL: it is none */
    enum mt_certainty certainty; /* of the category, for the block where it is least */
    uint64_t of_certainty[MT_SUM_CERTAINTIES]; /* bytes */
    struct mt_held_most *held; /* what keeps most of it (analysis.h); NULL: not known */
};

struct mt_sites {
    struct mt_site *site; /* the largest first */
    size_t n;
};

/* What the blocks of a call site have in common; the whole stack only if it is requested. */
enum {
    MT_SITE_CATEGORY,
    MT_SITE_PLACE,
    MT_SITE_OPERATOR,
    MT_SITE_NAME,
    MT_SITE_WHOLE,
    MT_SITE_KEYS
};
struct mt_query mt_site_query(const struct mt_naming *naming, bool by_stack);

/* Group the blocks, by_stack: also by their whole stack. 0 or -ENOMEM. Clear with mt_sites_clear in
 * any case. */
int mt_sites_collect(struct mt_sites *sites, const struct mt_naming *naming,
                     const struct mt_verdict *verdicts, size_t n, bool by_stack);
void mt_sites_clear(struct mt_sites *sites);

/* Return how sure a category is, for its blocks where it is least; what is less than a hundredth of
 * the category does not count. */
enum mt_certainty mt_sites_certainty(const struct mt_sites *sites, enum mt_category category);

/* Return the stack of the nearest caller in the user's own code if a site lies in an installed
 * package; 0 if it does not, or none is known. A program that a console script or "python -m"
 * starts is a package itself: then its frame nearest to the site. */
uint32_t mt_site_caller(const struct mt_definitions *definitions, const struct mt_site *site);

#endif
