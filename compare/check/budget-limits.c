/* SPDX-License-Identifier: Apache-2.0 */
/* Parse a budget's tables of limits. */
#include "analyzer/support/categories.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/text.h"
#include "budget-parts.h"
#include "trace-format/meaning/phase.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const whole_names[] = {
    [MT_OF_PEAK] = "peak",     [MT_OF_RESERVED] = "reserved",
    [MT_OF_GROWTH] = "growth", [MT_OF_FRAGMENTATION] = "fragmentation",
    [MT_OF_END] = "end",       NULL};
static const char every[] = "every";

static const char *whole_name(unsigned index)
{
    return whole_names[index];
}

/* Return a category's name. The user's rules are read before the budget, so custom categories are
 * included. */
static const char *category_name(unsigned index)
{
    return index < mt_n_categories ? mt_categories[index].name : NULL;
}

static const char *phase_name(unsigned index)
{
    return index < MT_PHASE_COUNT ? mt_phase_names[index].name : NULL;
}

/* The tables of limits. names(i) ends with NULL; without names, keys are patterns. */
static const struct mt_budget_section {
    const char *name;
    enum mt_subject subject;
    const char *(*names)(unsigned index);
    const char *what;
} sections[] = {
    {"limits", MT_OF_PEAK, whole_name, "limit"},
    {"category", MT_OF_CATEGORY, category_name, "category"},
    {"phase", MT_OF_PHASE, phase_name, "phase"},
    {"module", MT_OF_MODULE, NULL, NULL},
    {"site", MT_OF_SITE, NULL, NULL},
};
#define SECTIONS (sizeof sections / sizeof *sections)

const struct mt_budget_section *mt_budget_section(const char *name)
{
    for (size_t i = 0; i < SECTIONS; i++)
        if (!strcmp(sections[i].name, name))
            return &sections[i];
    return NULL;
}

/* Return the index of a limit, category or phase by name; the number of names: none. */
static unsigned index_of(const struct mt_budget_section *section, const char *name)
{
    unsigned i = 0;
    if (section->subject == MT_OF_CATEGORY)
        return mt_category_find(name, strlen(name));
    if (section->subject == MT_OF_PHASE)
        return mt_phase_find(name, strlen(name));
    while (section->names(i) && strcmp(section->names(i), name))
        i++;
    return i;
}

static int unknown_name(const struct mt_budget_parser *parser,
                        const struct mt_budget_section *section, const struct mt_toml *at)
{
    char names[MT_CATEGORY_ROOM * (MT_CATEGORY_NAME + 2) + 1] = "";
    for (unsigned i = 0; section->names(i); i++)
        mt_text_append(names, sizeof names, "%s%s", i ? " " : "", section->names(i));
    if (section->subject != MT_OF_PEAK)
        mt_text_append(names, sizeof names, " %s", every);
    return mt_budget_unknown(parser, at, section->what, names,
                             section->subject == MT_OF_CATEGORY ? " (--rules FILE names your own)"
                                                                : "");
}

int mt_budget_read_amount(const struct mt_budget_parser *parser, const struct mt_toml *at,
                          enum mt_unit unit, struct mt_amount *amount, char **text)
{
    char why[200];
    int rc =
        mt_budget_expect(parser, at, MT_TOML_INTEGER, "a string such as \"22 GiB\" or \"+2 %\"");
    if (rc)
        return rc;
    if (mt_amount_parse(at->text, amount, why, sizeof why))
        return mt_budget_wrong(parser, at, "%s", why);
    if (unit == MT_PERCENT && amount->unit != MT_PERCENT)
        return mt_budget_wrong(
            parser, at, "'%s' is a fraction; expected a percentage such as \"25 %%\"", at->key);
    if (unit == MT_BYTES && amount->unit == MT_PERCENT && !amount->is_relative)
        return mt_budget_wrong(parser, at,
                               "'%s' is a size; expected one such as \"22 GiB\" or, relative to "
                               "a baseline, \"+2 %%\"",
                               at->key);
    *text = strdup(at->text);
    return *text ? 0 : -ENOMEM;
}

enum mt_unit mt_budget_unit(enum mt_subject subject)
{
    return subject == MT_OF_FRAGMENTATION ? MT_PERCENT : MT_BYTES;
}

static struct mt_limit *add_limit(struct mt_budget *budget, const struct mt_toml *at)
{
    if (MT_GROW(budget->limit, budget->capacity, budget->n_limits))
        return NULL;
    struct mt_limit *limit = &budget->limit[budget->n_limits++];
    limit->line = at->line;
    limit->column = at->column;
    return limit;
}

static int name_limit(struct mt_limit *limit, const struct mt_budget_section *section,
                      const char *name)
{
    int n = section->subject == MT_OF_PEAK ? asprintf(&limit->name, "%s", name)
                                           : asprintf(&limit->name, "%s.%s", section->name, name);
    if (n < 0)
        limit->name = NULL;
    return n < 0 ? -ENOMEM : 0;
}

/* Refuse a line number after the colon, since the next change of the file moves it. */
static int check_pattern(const struct mt_budget_parser *parser,
                         const struct mt_budget_section *section, const struct mt_toml *at)
{
    const char *colon = section->subject == MT_OF_SITE ? strchr(at->key, ':') : NULL;
    if (!*at->key)
        return mt_budget_wrong(parser, at, "the pattern is empty; expected one such as \"%s\"",
                               section->subject == MT_OF_SITE ? "net.py:Net.forward" : "layers.*");
    if (colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")])
        return mt_budget_wrong(parser, at,
                               "line numbers change; expected the function instead "
                               "of '%s'",
                               colon + 1);
    return 0;
}

static int read_limit(const struct mt_budget_parser *parser,
                      const struct mt_budget_section *section, const struct mt_toml *at,
                      const char *key)
{
    struct mt_limit *limit = add_limit(parser->budget, at);
    if (!limit)
        return -ENOMEM;
    limit->subject = section->subject;
    limit->of_each = !section->names && !strcmp(key, every);
    if (section->names) {
        limit->index = index_of(section, key);
        if (!section->names(limit->index))
            return unknown_name(parser, section, at);
        key = section->names(limit->index);
        if (section->subject == MT_OF_PEAK)
            limit->subject = (enum mt_subject)limit->index;
    }
    int rc = section->names || limit->of_each ? 0 : check_pattern(parser, section, at);
    if (!rc)
        rc = name_limit(limit, section, key);
    if (!rc && !(limit->pattern = strdup(section->names ? "" : key)))
        rc = -ENOMEM;
    return rc ? rc
              : mt_budget_read_amount(parser, at, mt_budget_unit(limit->subject), &limit->most,
                                      &limit->text);
}

const struct mt_toml *mt_budget_member(const struct mt_toml *table, const char *key)
{
    for (size_t i = 0; i < table->n; i++)
        if (!strcmp(table->child[i].key, key))
            return &table->child[i];
    return NULL;
}

/* Limit each category or phase that has no limit of its own. */
static int read_every(const struct mt_budget_parser *parser,
                      const struct mt_budget_section *section, const struct mt_toml *table,
                      const struct mt_toml *at)
{
    bool is_named[MT_CATEGORY_ROOM + 1] = {false};
    int rc = 0;
    for (size_t i = 0; i < table->n; i++)
        is_named[index_of(section, table->child[i].key)] = true;
    for (unsigned i = 0; section->names(i) && !rc; i++)
        if (!is_named[i])
            rc = read_limit(parser, section, at, section->names(i));
    return rc;
}

int mt_budget_read_section(const struct mt_budget_parser *parser,
                           const struct mt_budget_section *section, const struct mt_toml *table)
{
    int rc = mt_budget_expect(parser, table, MT_TOML_TABLE, "a table of limits");
    for (size_t i = 0; i < table->n && !rc; i++) {
        const struct mt_toml *at = &table->child[i];
        bool of_every = section->names && section->subject != MT_OF_PEAK && !strcmp(at->key, every);
        rc = of_every ? read_every(parser, section, table, at)
                      : read_limit(parser, section, at, at->key);
    }
    return rc;
}
