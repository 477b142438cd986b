/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a budget's parser, lowest first: errors (budget-faults.c), tables of limits
 * (budget-limits.c), and the file with its allowances (budget.c). Each returns 0, -ENOMEM, or
 * -EINVAL with the parser's error filled.
 */
#ifndef MT_BUDGET_PARTS_H
#define MT_BUDGET_PARTS_H

#include "budget.h"
#include "toml.h"

struct mt_budget_parser {
    struct mt_budget *budget;
    struct mt_budget_error *error;
};

/* Report an error at a place in the file. Always returns -EINVAL. */
__attribute__((format(printf, 3, 4))) int mt_budget_wrong(const struct mt_budget_parser *parser,
                                                          const struct mt_toml *at,
                                                          const char *format, ...);

/* Report that a key is none of these words, separated by spaces. Always returns -EINVAL. */
int mt_budget_unknown(const struct mt_budget_parser *parser, const struct mt_toml *at,
                      const char *what, const char *choices, const char *hint);

/* Check a value's kind. what: the expected value, for the message. */
int mt_budget_expect(const struct mt_budget_parser *parser, const struct mt_toml *at,
                     enum mt_toml_kind kind, const char *what);

/* Return a table's member by name; NULL: none. */
const struct mt_toml *mt_budget_member(const struct mt_toml *table, const char *key);

/* Parse the amount of a limit in this unit. *text gets a copy of its text, which the caller frees.
 */
int mt_budget_read_amount(const struct mt_budget_parser *parser, const struct mt_toml *at,
                          enum mt_unit unit, struct mt_amount *amount, char **text);

/* Return the unit in which a subject is measured. */
enum mt_unit mt_budget_unit(enum mt_subject subject);

/* A table of limits; NULL: no such table. */
struct mt_budget_section;
const struct mt_budget_section *mt_budget_section(const char *name);
int mt_budget_read_section(const struct mt_budget_parser *parser,
                           const struct mt_budget_section *section, const struct mt_toml *table);

#endif
