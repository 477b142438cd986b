/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block's properties, by which all outputs name, list and group blocks. A property is a number,
 * which usually stands for a text.
 */
#ifndef MT_PROPERTIES_H
#define MT_PROPERTIES_H

#include "analyzer/classify/classify.h"
#include "analyzer/model/sums.h"

/* Those with a text, each once: P(enumerator, name, a group's name where there is no text). */
/* clang-format off */
#define MT_PROPERTIES(P)                                                                           \
    P(CATEGORY, "category", "")                                                                    \
    P(CERTAINTY, "certainty", "")                                                                  \
    P(DTYPE, "dtype", "unknown")                                                                   \
    P(FILE, "file", "?")                                                                           \
    P(FUNCTION, "function", "?")                                                                   \
    P(MODULE, "module", "module unknown")                                                          \
    P(NAME, "name", "no name")                                                                     \
    P(OPERATOR, "operator", "no backward operator")                                                \
    P(PHASE, "phase", "")                                                                          \
    P(RANGE, "range", "no range")                                                                  \
    P(RULE, "rule", "")                                                                            \
    P(STACK, "stack", "stack unknown")
/* clang-format on */

#define MT_PROPERTY_NAME(id, name, ...) " " name
#define MT_PROPERTY_NAMES (&(MT_PROPERTIES(MT_PROPERTY_NAME))[1]) /* separated by spaces */

enum mt_property {
    MT_BY_SITE, /* a call site: category, line, operator and name (sites.h) */
#define MT_PROPERTY_ENUM(id, ...) MT_BY_##id,
    MT_PROPERTIES(MT_PROPERTY_ENUM)
#undef MT_PROPERTY_ENUM
        MT_PROPERTIES_N,
    /* Numbers without a text: */
    MT_BY_BLAMED = MT_PROPERTIES_N, /* mt_blamed_stack */
    MT_BY_PLACE,                    /* mt_stack_place of the user's line */
    MT_BY_SAVER,                    /* mt_saver_stack */
    MT_BY_SURE,                     /* 0: the category is a guess */
};

/* The source of the numbers' texts. */
struct mt_naming {
    const struct mt_definitions *definitions;
    const struct mt_ranges *ranges;
    const struct mt_user_rules *rules;
};

/* Return the number of a block's property. */
uint32_t mt_property(const struct mt_naming *naming, enum mt_property property,
                     const struct mt_verdict *verdict);

/* Return the number's text, which may be in `room`; NULL: unknown, or none. */
#define MT_PROPERTY_TEXT 4096u
const char *mt_property_text(const struct mt_naming *naming, enum mt_property property,
                             uint32_t number, char room[MT_PROPERTY_TEXT]);

/* Return a block as a sum's entry: up to MT_SUM_KEYS properties, and its user's line as stack. */
struct mt_sum mt_sum_of_block(const struct mt_naming *naming, const enum mt_property *by,
                              unsigned n_by, const struct mt_verdict *verdict);

/* Sum blocks by up to MT_SUM_KEYS properties; a sum's stack is the largest block's user's line. 0
 * or -ENOMEM. Call mt_sums_clear in any case. */
int mt_sum_blocks(struct mt_sums *sums, const struct mt_naming *naming, const enum mt_property *by,
                  unsigned n_by, const struct mt_verdict *verdicts, size_t n);

#endif
