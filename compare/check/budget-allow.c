/* SPDX-License-Identifier: Apache-2.0 */
/* Parse a budget's allowances. */
#include "budget-parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ALLOW_LIMIT, ALLOW_EXTRA, ALLOW_REASON, ALLOW_UNTIL, ALLOW_KEYS };

static const struct {
    const char *name;
    enum mt_toml_kind kind;
    const char *expected;
} allow_keys[ALLOW_KEYS] = {
    [ALLOW_LIMIT] = {"limit", MT_TOML_STRING, "the name of a limit, such as \"peak\""},
    [ALLOW_EXTRA] = {"extra", MT_TOML_INTEGER, "a string such as \"500 MiB\" or \"5 %\""},
    [ALLOW_REASON] = {"reason", MT_TOML_STRING, "a string"},
    [ALLOW_UNTIL] = {"until", MT_TOML_DATE, "a date such as 2027-01-31, without quotation marks"},
};

static int find_allow_keys(const struct mt_budget_parser *parser, const struct mt_toml *table,
                           const struct mt_toml **found)
{
    int rc = 0;
    for (size_t i = 0; i < table->n && !rc; i++) {
        const struct mt_toml *at = &table->child[i];
        size_t key = 0;
        while (key < ALLOW_KEYS && strcmp(allow_keys[key].name, at->key))
            key++;
        if (key == ALLOW_KEYS)
            return mt_budget_unknown(parser, at, "key", "limit extra reason until", "");
        rc = mt_budget_expect(parser, at, allow_keys[key].kind, allow_keys[key].expected);
        found[key] = at;
    }
    for (size_t key = 0; key < ALLOW_KEYS && !rc; key++)
        if (!found[key])
            rc = mt_budget_wrong(parser, table, "this allowance has no '%s'; expected %s",
                                 allow_keys[key].name, allow_keys[key].expected);
    return rc;
}

static const struct mt_limit *find_limit(const struct mt_budget *budget, const char *name)
{
    for (size_t i = 0; i < budget->n_limits; i++)
        if (!strcmp(budget->limit[i].name, name))
            return &budget->limit[i];
    return NULL;
}

static int read_extra(const struct mt_budget_parser *parser, struct mt_allowance *allowance,
                      const struct mt_toml *at)
{
    char why[200];
    const struct mt_limit *limit = find_limit(parser->budget, allowance->limit);
    if (mt_amount_parse(at->text, &allowance->extra, why, sizeof why))
        return mt_budget_wrong(parser, at, "%s", why);
    if (mt_budget_unit(limit->subject) == MT_PERCENT && allowance->extra.unit != MT_PERCENT)
        return mt_budget_wrong(
            parser, at, "%s is a fraction; expected a percentage such as \"5 %%\"", limit->name);
    return 0;
}

static int read_allowance(const struct mt_budget_parser *parser, const struct mt_toml *table)
{
    const struct mt_toml *found[ALLOW_KEYS] = {0};
    struct mt_allowance *allowance = &parser->budget->allowance[parser->budget->n_allowances++];
    int rc = mt_budget_expect(parser, table, MT_TOML_TABLE, "tables that begin with [[allow]]");
    if (!rc)
        rc = find_allow_keys(parser, table, found);
    if (rc)
        return rc;
    const struct mt_toml *until = found[ALLOW_UNTIL];
    *allowance = (struct mt_allowance){.limit = strdup(found[ALLOW_LIMIT]->text),
                                       .text = strdup(found[ALLOW_EXTRA]->text),
                                       .reason = strdup(found[ALLOW_REASON]->text),
                                       .year = until->year,
                                       .month = until->month,
                                       .day = until->day,
                                       .line = table->line};
    if (!allowance->limit || !allowance->text || !allowance->reason)
        return -ENOMEM;
    if (!allowance->reason[strspn(allowance->reason, " ")])
        return mt_budget_wrong(parser, found[ALLOW_REASON],
                               "the reason is empty; expected a string");
    if (!find_limit(parser->budget, allowance->limit))
        return mt_budget_wrong(
            parser, found[ALLOW_LIMIT],
            "there is no limit '%s' in this file; expected one of its limits, such as %s",
            allowance->limit, parser->budget->n_limits ? parser->budget->limit[0].name : "peak");
    return read_extra(parser, allowance, found[ALLOW_EXTRA]);
}

int mt_budget_read_allowances(const struct mt_budget_parser *parser, const struct mt_toml *array)
{
    int rc = mt_budget_expect(parser, array, MT_TOML_ARRAY, "tables that begin with [[allow]]");
    if (rc)
        return rc;
    parser->budget->allowance = calloc(array->n + 1, sizeof *parser->budget->allowance);
    if (!parser->budget->allowance)
        return -ENOMEM;
    for (size_t i = 0; i < array->n && !rc; i++)
        rc = read_allowance(parser, &array->child[i]);
    return rc;
}
