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
        rc = mt_budget_read_allowances(parser, allow);
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
