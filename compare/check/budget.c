/* SPDX-License-Identifier: Apache-2.0 */
/* Turn a TOML document's tree into a budget. Each error has its place and the expected value. */
#include "budget.h"
#include "analyzer/support/categories.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/guard.h"
#include "analyzer/support/text.h"
#include "toml.h"
#include "trace-format/meaning/phase.h"
#include "trace-format/settings/nearest.h"

#include <errno.h>
#include <stdarg.h>
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

/* Its functions return 0, -ENOMEM, or -EINVAL with the error filled. */
struct parser {
    struct mt_budget *budget;
    struct mt_budget_error *error;
};

/* Report an error at a place in the file. Always returns -EINVAL. */
__attribute__((format(printf, 3, 4))) static int
wrong(const struct parser *parser, const struct mt_toml *at, const char *format, ...)
{
    va_list arguments;
    parser->error->line = at->line;
    parser->error->column = at->column;
    va_start(arguments, format);
    vsnprintf(parser->error->text, sizeof parser->error->text, format, arguments);
    va_end(arguments);
    return -EINVAL;
}

/* Report that a key is none of these words, separated by spaces. Always returns -EINVAL. */
static int unknown_key(const struct parser *parser, const struct mt_toml *at, const char *what,
                       const char *choices, const char *hint)
{
    char why[MT_UNKNOWN_TEXT];
    return wrong(parser, at, "%s%s", mt_unknown_text(why, what, at->key, strlen(at->key), choices),
                 hint);
}

/* Check a value's kind. what: the expected value, for the message. */
static int expect(const struct parser *parser, const struct mt_toml *at, enum mt_toml_kind kind,
                  const char *what)
{
    if (at->kind == kind || (kind == MT_TOML_INTEGER && at->kind == MT_TOML_STRING))
        return 0; /* an amount is a number of bytes, or a text with its unit */
    return wrong(parser, at, "'%s' is %s; expected %s", at->key, at->kind_name, what);
}

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
static const struct section {
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

/* Return the table of limits of that name; NULL: no such table. */
static const struct section *find_section(const char *name)
{
    for (size_t i = 0; i < SECTIONS; i++)
        if (!strcmp(sections[i].name, name))
            return &sections[i];
    return NULL;
}

/* Return the index of a limit, category or phase by name; the number of names: none. */
static unsigned index_of(const struct section *section, const char *name)
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

static int unknown_name(const struct parser *parser, const struct section *section,
                        const struct mt_toml *at)
{
    char names[MT_CATEGORY_ROOM * (MT_CATEGORY_NAME + 2) + 1] = "";
    for (unsigned i = 0; section->names(i); i++)
        mt_text_append(names, sizeof names, "%s%s", i ? " " : "", section->names(i));
    if (section->subject != MT_OF_PEAK)
        mt_text_append(names, sizeof names, " %s", every);
    return unknown_key(parser, at, section->what, names,
                       section->subject == MT_OF_CATEGORY ? " (--rules FILE names your own)" : "");
}

/* Parse the amount of a limit in this unit. *text gets a copy of its text, which the caller frees.
 */
static int read_amount(const struct parser *parser, const struct mt_toml *at, enum mt_unit unit,
                       struct mt_amount *amount, char **text)
{
    char why[200];
    int rc = expect(parser, at, MT_TOML_INTEGER, "a string such as \"22 GiB\" or \"+2 %\"");
    if (rc)
        return rc;
    if (mt_amount_parse(at->text, amount, why, sizeof why))
        return wrong(parser, at, "%s", why);
    if (unit == MT_PERCENT && amount->unit != MT_PERCENT)
        return wrong(parser, at, "'%s' is a fraction; expected a percentage such as \"25 %%\"",
                     at->key);
    if (unit == MT_BYTES && amount->unit == MT_PERCENT && !amount->is_relative)
        return wrong(parser, at,
                     "'%s' is a size; expected one such as \"22 GiB\" or, relative to "
                     "a baseline, \"+2 %%\"",
                     at->key);
    *text = strdup(at->text);
    return *text ? 0 : -ENOMEM;
}

/* Return the unit in which a subject is measured. */
static enum mt_unit unit_of(enum mt_subject subject)
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

static int name_limit(struct mt_limit *limit, const struct section *section, const char *name)
{
    int n = section->subject == MT_OF_PEAK ? asprintf(&limit->name, "%s", name)
                                           : asprintf(&limit->name, "%s.%s", section->name, name);
    if (n < 0)
        limit->name = NULL;
    return n < 0 ? -ENOMEM : 0;
}

/* Refuse a line number after the colon, since the next change of the file moves it. */
static int check_pattern(const struct parser *parser, const struct section *section,
                         const struct mt_toml *at)
{
    const char *colon = section->subject == MT_OF_SITE ? strchr(at->key, ':') : NULL;
    if (!*at->key)
        return wrong(parser, at, "the pattern is empty; expected one such as \"%s\"",
                     section->subject == MT_OF_SITE ? "net.py:Net.forward" : "layers.*");
    if (colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")])
        return wrong(parser, at,
                     "line numbers change; expected the function instead "
                     "of '%s'",
                     colon + 1);
    return 0;
}

static int read_limit(const struct parser *parser, const struct section *section,
                      const struct mt_toml *at, const char *key)
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
    return rc ? rc : read_amount(parser, at, unit_of(limit->subject), &limit->most, &limit->text);
}

/* Return a table's member by name; NULL: none. */
static const struct mt_toml *member(const struct mt_toml *table, const char *key)
{
    for (size_t i = 0; i < table->n; i++)
        if (!strcmp(table->child[i].key, key))
            return &table->child[i];
    return NULL;
}

/* Limit each category or phase that has no limit of its own. */
static int read_every(const struct parser *parser, const struct section *section,
                      const struct mt_toml *table, const struct mt_toml *at)
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

static int read_section(const struct parser *parser, const struct section *section,
                        const struct mt_toml *table)
{
    int rc = expect(parser, table, MT_TOML_TABLE, "a table of limits");
    for (size_t i = 0; i < table->n && !rc; i++) {
        const struct mt_toml *at = &table->child[i];
        bool of_every = section->names && section->subject != MT_OF_PEAK && !strcmp(at->key, every);
        rc = of_every ? read_every(parser, section, table, at)
                      : read_limit(parser, section, at, at->key);
    }
    return rc;
}

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

static int find_allow_keys(const struct parser *parser, const struct mt_toml *table,
                           const struct mt_toml **found)
{
    int rc = 0;
    for (size_t i = 0; i < table->n && !rc; i++) {
        const struct mt_toml *at = &table->child[i];
        size_t key = 0;
        while (key < ALLOW_KEYS && strcmp(allow_keys[key].name, at->key))
            key++;
        if (key == ALLOW_KEYS)
            return unknown_key(parser, at, "key", "limit extra reason until", "");
        rc = expect(parser, at, allow_keys[key].kind, allow_keys[key].expected);
        found[key] = at;
    }
    for (size_t key = 0; key < ALLOW_KEYS && !rc; key++)
        if (!found[key])
            rc = wrong(parser, table, "this allowance has no '%s'; expected %s",
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

static int read_extra(const struct parser *parser, struct mt_allowance *allowance,
                      const struct mt_toml *at)
{
    char why[200];
    const struct mt_limit *limit = find_limit(parser->budget, allowance->limit);
    if (mt_amount_parse(at->text, &allowance->extra, why, sizeof why))
        return wrong(parser, at, "%s", why);
    if (unit_of(limit->subject) == MT_PERCENT && allowance->extra.unit != MT_PERCENT)
        return wrong(parser, at, "%s is a fraction; expected a percentage such as \"5 %%\"",
                     limit->name);
    return 0;
}

static int read_allowance(const struct parser *parser, const struct mt_toml *table)
{
    const struct mt_toml *found[ALLOW_KEYS] = {0};
    struct mt_allowance *allowance = &parser->budget->allowance[parser->budget->n_allowances++];
    int rc = expect(parser, table, MT_TOML_TABLE, "tables that begin with [[allow]]");
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
        return wrong(parser, found[ALLOW_REASON], "the reason is empty; expected a string");
    if (!find_limit(parser->budget, allowance->limit))
        return wrong(parser, found[ALLOW_LIMIT],
                     "there is no limit '%s' in this file; expected one of its limits, such as %s",
                     allowance->limit,
                     parser->budget->n_limits ? parser->budget->limit[0].name : "peak");
    return read_extra(parser, allowance, found[ALLOW_EXTRA]);
}

/* Parse all [[allow]] tables, after all limits, since allowances name them. */
static int read_allowances(const struct parser *parser, const struct mt_toml *array)
{
    int rc = expect(parser, array, MT_TOML_ARRAY, "tables that begin with [[allow]]");
    if (rc)
        return rc;
    parser->budget->allowance = calloc(array->n + 1, sizeof *parser->budget->allowance);
    if (!parser->budget->allowance)
        return -ENOMEM;
    for (size_t i = 0; i < array->n && !rc; i++)
        rc = read_allowance(parser, &array->child[i]);
    return rc;
}

static int read_ignore(const struct parser *parser, const struct mt_toml *at)
{
    char *text = NULL;
    struct mt_amount *ignore = &parser->budget->ignore;
    int rc = read_amount(parser, at, MT_BYTES, ignore, &text);
    free(text);
    if (!rc && ignore->is_relative)
        rc = wrong(parser, at, "'ignore' is an absolute size; expected one such as \"1 MiB\"");
    return rc;
}

static int read_top(const struct parser *parser, const struct mt_toml *at)
{
    const struct section *section = find_section(at->key);
    if (section)
        return read_section(parser, section, at);
    if (!strcmp(at->key, "ignore"))
        return read_ignore(parser, at);
    if (!strcmp(at->key, "allow"))
        return 0; /* read after all limits, because it names them */
    return unknown_key(parser, at, "key", "ignore limits category phase module site allow", "");
}

static int read_document(const struct parser *parser, const struct mt_toml *document)
{
    int rc = 0;
    for (size_t i = 0; i < document->n && !rc; i++)
        rc = read_top(parser, &document->child[i]);
    const struct mt_toml *allow = member(document, "allow");
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
    const struct parser parser = {budget, error};
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
