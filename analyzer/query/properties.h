/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block's properties, by which all outputs name, list and group blocks. A property is a number,
 * which usually stands for a text.
 */
#ifndef MT_PROPERTIES_H
#define MT_PROPERTIES_H

#include "analyzer/classify/classify.h"

/* Those with a text, each once: P(enumerator, name, a group's name where there is no text). */
/* clang-format off */
#define MT_PROPERTIES(P)                                                                           \
    P(CATEGORY, "category", "")                                                                    \
    P(CERTAINTY, "certainty", "")                                                                  \
    P(DTYPE, "dtype", "type unknown")                                                              \
    P(FILE, "file", "?")                                                                           \
    P(FUNCTION, "function", "?")                                                                   \
    P(LAYER, "layer", "module unknown") /* a module with "*" for numbers: "layers.*.attn" */       \
    P(LINE, "line", "unknown")                                                                     \
    P(MODULE, "module", "module unknown")                                                          \
    P(NAME, "name", "no name")                                                                     \
    P(OPERATION, "operation", "unknown") /* the backward operator, else the function that allocated */ \
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
    MT_BY_LAST = MT_BY_SURE
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

/* Return the same for people, if it differs: a category's label. */
const char *mt_property_label(const struct mt_naming *naming, enum mt_property property,
                              uint32_t number, char room[MT_PROPERTY_TEXT]);

/* Write the operator of a backward node; without one (0), the function of a stack's innermost
 * frame.
 */
void mt_operation_text(char *out, size_t size, const struct mt_definitions *definitions,
                       uint32_t node_name, uint32_t stack);

/* Return a property's name, "site" included, and its words where there is no text. */
const char *mt_property_name(enum mt_property property);
const char *mt_property_unknown(enum mt_property property);

#endif
