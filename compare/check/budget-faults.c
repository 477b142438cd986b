/* SPDX-License-Identifier: Apache-2.0 */
/* Report errors in a budget. */
#include "budget-parts.h"
#include "trace-format/settings/nearest.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int mt_budget_wrong(const struct mt_budget_parser *parser, const struct mt_toml *at,
                    const char *format, ...)
{
    va_list arguments;
    parser->error->line = at->line;
    parser->error->column = at->column;
    va_start(arguments, format);
    vsnprintf(parser->error->text, sizeof parser->error->text, format, arguments);
    va_end(arguments);
    return -EINVAL;
}

int mt_budget_unknown(const struct mt_budget_parser *parser, const struct mt_toml *at,
                      const char *what, const char *choices, const char *hint)
{
    char why[MT_UNKNOWN_TEXT];
    return mt_budget_wrong(parser, at, "%s%s",
                           mt_unknown_text(why, what, at->key, strlen(at->key), choices), hint);
}

int mt_budget_expect(const struct mt_budget_parser *parser, const struct mt_toml *at,
                     enum mt_toml_kind kind, const char *what)
{
    if (at->kind == kind || (kind == MT_TOML_INTEGER && at->kind == MT_TOML_STRING))
        return 0; /* an amount is a number of bytes, or a text with its unit */
    return mt_budget_wrong(parser, at, "'%s' is %s; expected %s", at->key, at->kind_name, what);
}
