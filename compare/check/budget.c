/* SPDX-License-Identifier: Apache-2.0 */
/* Turn a TOML document's tree into a budget. Each error has its place and the expected value. */
#include "budget.h"
#include "analyzer/support/guard.h"
#include "budget-parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_LIMIT (1u << 20)
#define DEFAULT_IGNORE (1u << 20)

/* The default budget, which memtap-check(1) shows. Call sites, modules and most categories have no
 * limit, since they change completely when the peak moves to another phase, even if it is hardly
 * higher. */
const char mt_budget_default[] = "ignore = \"1 MiB\"\n"
                                 "[limits]\n"
                                 "peak = \"+2 %\"\n"
                                 "reserved = \"+2 %\"\n"
                                 "growth = \"+0 B\"\n"
                                 "[category]\n"
                                 "parameters = \"+2 %\"\n"
                                 "optimizer_state = \"+2 %\"\n";

const char mt_budget_default_exact[] = "ignore = \"0 B\"\n"
                                       "[limits]\n"
                                       "peak = \"+0 B\"\n"
                                       "reserved = \"+0 B\"\n"
                                       "growth = \"+0 B\"\n"
                                       "[category]\n"
                                       "parameters = \"+0 B\"\n"
                                       "optimizer_state = \"+0 B\"\n";

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

/* Parse all [[allow]] tables, after all limits, since allowances name them. */
static int read_allowances(const struct mt_budget_parser *parser, const struct mt_toml *array)
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

static int read_ignore(const struct mt_budget_parser *parser, const struct mt_toml *at)
{
    char *text = NULL;
    struct mt_amount *ignore = &parser->budget->ignore;
    int rc = mt_budget_read_amount(parser, at, MT_BYTES, ignore, &text);
    free(text);
    if (!rc && ignore->is_relative)
        rc = mt_budget_wrong(parser, at,
                             "'ignore' is an absolute size; expected one such as \"1 MiB\"");
    return rc;
}

static int read_top(const struct mt_budget_parser *parser, const struct mt_toml *at)
{
    const struct mt_budget_section *section = mt_budget_section(at->key);
    if (section)
        return mt_budget_read_section(parser, section, at);
    if (!strcmp(at->key, "ignore"))
        return read_ignore(parser, at);
    if (!strcmp(at->key, "allow"))
        return 0; /* read after all limits, because it names them */
    return mt_budget_unknown(parser, at, "key", "ignore limits category phase module site allow",
                             "");
}

static int read_document(const struct mt_budget_parser *parser, const struct mt_toml *document)
{
    int rc = 0;
    for (size_t i = 0; i < document->n && !rc; i++)
        rc = read_top(parser, &document->child[i]);
    const struct mt_toml *allow = mt_budget_member(document, "allow");
    if (!rc && allow)
        rc = read_allowances(parser, allow);
    if (!rc && !parser->budget->n_limits) {
        snprintf(parser->error->text, sizeof parser->error->text,
                 "no limits; expected one such as [limits] and peak = \"22 GiB\"");
        rc = -EINVAL;
    }
    return rc;
}

int mt_budget_parse(struct mt_budget *budget, const char *path, const char *text, size_t size,
                    struct mt_budget_error *error)
{
    const struct mt_budget_parser parser = {budget, error};
    struct mt_toml document;
    struct mt_toml_error fault;
    memset(error, 0, sizeof *error);
    *budget = (struct mt_budget){.path = strdup(path),
                                 .ignore = {.unit = MT_BYTES, .value = DEFAULT_IGNORE}};
    if (!budget->path)
        return -ENOMEM;
    int rc = mt_toml_parse(&document, text, size, &fault);
    if (rc == -EINVAL) {
        error->line = fault.line;
        error->column = fault.column;
        snprintf(error->text, sizeof error->text, "%s", fault.text);
    }
    if (!rc)
        rc = read_document(&parser, &document);
    mt_toml_clear(&document);
    return rc;
}

/* Read at most one byte more than the limit. Return 0 or a negative errno. */
static int read_file(const char *path, char **bytes, size_t *size)
{
    mt_input_note(path);
    FILE *file = fopen(path, "re");
    *bytes = file ? malloc(TEXT_LIMIT + 1) : NULL;
    *size = *bytes ? fread(*bytes, 1, TEXT_LIMIT + 1, file) : 0;
    int rc = !file || (*bytes && ferror(file)) ? -errno : *bytes ? 0 : -ENOMEM;
    if (file)
        fclose(file);
    return rc;
}

int mt_budget_read(struct mt_budget *budget, const char *path, struct mt_budget_error *error)
{
    char *bytes;
    size_t size;
    memset(error, 0, sizeof *error);
    memset(budget, 0, sizeof *budget);
    int rc = read_file(path, &bytes, &size);
    if (!rc && size > TEXT_LIMIT) {
        rc = -EFBIG;
        snprintf(error->text, sizeof error->text, "larger than 1 MiB, so not a budget");
    } else if (!rc) {
        rc = mt_budget_parse(budget, path, bytes, size, error);
    } else {
        snprintf(error->text, sizeof error->text,
                 "%s; expected a budget file; memtap budget proposes one", strerror(-rc));
    }
    free(bytes);
    return rc;
}

void mt_budget_clear(struct mt_budget *budget)
{
    for (size_t i = 0; i < budget->n_limits; i++) {
        free(budget->limit[i].name);
        free(budget->limit[i].pattern);
        free(budget->limit[i].text);
    }
    for (size_t i = 0; i < budget->n_allowances; i++) {
        free(budget->allowance[i].limit);
        free(budget->allowance[i].text);
        free(budget->allowance[i].reason);
    }
    free(budget->limit);
    free(budget->allowance);
    free(budget->path);
    memset(budget, 0, sizeof *budget);
}

static long day_number(int year, int month, int day)
{
    return (year * 12L + month) * 31 + day;
}

void mt_budget_set_today(struct mt_budget *budget, int year, int month, int day)
{
    for (size_t i = 0; i < budget->n_allowances; i++) {
        struct mt_allowance *a = &budget->allowance[i];
        a->has_expired = day_number(a->year, a->month, a->day) < day_number(year, month, day);
    }
}

const struct mt_limit *mt_budget_relative(const struct mt_budget *budget)
{
    for (size_t i = 0; i < budget->n_limits; i++)
        if (budget->limit[i].most.is_relative)
            return &budget->limit[i];
    return NULL;
}
