/* SPDX-License-Identifier: Apache-2.0 */
#include "check-arguments.h"
#include "tools/memtap/terminal/values.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Read the baselines: all words up to the next option, since a shell expands a pattern to many. */
static int note_against(const struct mt_typed *typed)
{
    int begin = optind - 1;
    while (optind < typed->argc && *typed->argv[optind] != '-')
        optind++;
    return mt_trace_list_add(typed->place, typed->argv + begin, optind - begin);
}

int mt_note_check_format(const struct mt_typed *typed)
{
    struct mt_check_arguments *arguments = typed->place;
    size_t n = strcspn(typed->value, ":"), at;
    char *name = strndup(typed->value, n);
    const struct mt_check_format *format = mt_check_formats;
    int rc = name ? mt_read_choice(typed->command, "format", name, typed->option->choices, &at)
                  : mt_fail("out of memory");
    while (!rc && strcmp(format->name, name))
        format++;
    free(name);
    if (rc)
        return rc;
    if (arguments->n_outputs == MT_MOST_OUTPUTS)
        return mt_fail_usage(typed->command, "more than %d formats given", MT_MOST_OUTPUTS);
    arguments->output[arguments->n_outputs].format = format;
    arguments->output[arguments->n_outputs++].path = typed->value[n] ? typed->value + n + 1 : "";
    return 0;
}

int mt_note_missing(const struct mt_typed *typed)
{
    struct mt_check_arguments *arguments = typed->place;
    if (!mt_part_is_pattern(typed->value))
        return mt_fail_usage(typed->command,
                             "unknown part '%s'; use process:NAME, rank:N, device:N or phase:NAME",
                             typed->value);
    if (arguments->allowed.n_missing == MT_MOST_MISSING)
        return mt_fail_usage(typed->command, "--allow-missing is given more than %d times",
                             MT_MOST_MISSING);
    arguments->missing[arguments->allowed.n_missing++] = typed->value;
    return 0;
}

static int note_today(const struct mt_typed *typed)
{
    struct tm *day = typed->place;
    *day = (struct tm){0};
    const char *end = strptime(typed->value, "%Y-%m-%d", day);
    return end && !*end
               ? 0
               : mt_fail_usage(typed->command, "invalid date '%s'; use one such as 2027-01-31",
                               typed->value);
}

/* clang-format off */
#define PLACE(member) offsetof(struct mt_check_arguments, member)
const struct mt_option mt_check_options[] = {
    {0, "against", "BASELINE...", "compare with these runs: all traces up to the next option", NULL, note_against,
     PLACE(baselines)},
    {0, "budget", "FILE", "check against this budget: memtap-budget(5)", NULL, mt_note_text, PLACE(budget_path)},
    MT_ALLOW_ENDED_OPTION(mt_check_arguments, allowed.ends),
    {0, "allow-unknown", NULL, "accept a run whose sizes depend on values that were "
                               "not\nsimulated", NULL,
     mt_note_flag, PLACE(allows_unknown)},
    MT_CHECK_OPTIONS(0),
    {0, "today", "DATE", "apply the allowances of this date (2027-01-31)", NULL, note_today, PLACE(today)},
    MT_RULES_OPTION(mt_check_arguments, rules),
    {0}};
/* clang-format on */

static void set_today(struct mt_budget *budget, const struct tm *day)
{
    mt_budget_set_today(budget, day->tm_year + 1900, day->tm_mon + 1, day->tm_mday);
}

int mt_check_read_budget(struct mt_check_arguments *arguments, const char *path)
{
    struct mt_budget_error error;
    struct tm today = {0};
    time_t now = time(NULL);
    int rc = path ? mt_budget_read(&arguments->budget, path, &error)
                  : mt_budget_parse(&arguments->budget, "", mt_budget_default,
                                    strlen(mt_budget_default), &error);
    if (rc)
        return mt_fail_at(path ? path : "the default", rc, error.line, error.column, error.text);
    gmtime_r(&now, &today);
    set_today(&arguments->budget, &today);
    return 0;
}

/* Refuse a relative limit without a baseline. */
static int check_budget(struct mt_check_arguments *arguments)
{
    const struct mt_limit *relative = mt_budget_relative(&arguments->budget);
    if (relative && !arguments->baselines.n)
        return mt_fail("%s:%u:%u: \"%s\" for %s is relative; give --against BASELINE",
                       arguments->budget_path ? arguments->budget_path : "the default",
                       relative->line, relative->column, relative->text, relative->name);
    if (arguments->today.tm_mday)
        set_today(&arguments->budget, &arguments->today);
    return 0;
}

static bool is_complete(const struct mt_command *command,
                        const struct mt_check_arguments *arguments)
{
    if (!arguments->runs.n && arguments->baselines.n > 1)
        mt_fail_usage(command, "no trace to check: every trace after --against is a baseline; "
                               "put the new traces first");
    else if (!arguments->runs.n)
        mt_fail_usage(command, "no trace given");
    else if (!arguments->budget_path && !arguments->baselines.n)
        mt_fail_usage(command, "no limits given; give --against BASELINE, --budget FILE or both");
    else
        return true;
    return false;
}

void mt_check_set_outputs(struct mt_check_arguments *arguments)
{
    const char *summary = getenv("GITHUB_STEP_SUMMARY");
    bool is_github = false;
    if (!arguments->n_outputs)
        arguments->output[arguments->n_outputs++].format = mt_check_formats;
    for (size_t i = 0; i < arguments->n_outputs; i++) {
        if (!arguments->output[i].path)
            arguments->output[i].path = "";
        is_github |= arguments->output[i].format->print == mt_check_github;
    }
    if (!arguments->summary && is_github && summary && *summary)
        arguments->summary = summary;
}

int mt_read_check_arguments(struct mt_check_arguments *arguments, const struct mt_command *command,
                            int argc, char **argv)
{
    memset(arguments, 0, sizeof *arguments);
    int operand = mt_options_read(command, argc, argv, arguments);
    if (operand < 0 || mt_trace_list_add(&arguments->runs, argv + operand, argc - operand))
        return -1;
    mt_check_set_outputs(arguments);
    return !is_complete(command, arguments) ||
                   mt_check_read_budget(arguments, arguments->budget_path) ||
                   check_budget(arguments)
               ? -1
               : 0;
}

void mt_check_arguments_clear(struct mt_check_arguments *arguments)
{
    mt_budget_clear(&arguments->budget);
    mt_user_rules_destroy(arguments->rules);
    mt_trace_list_clear(&arguments->runs);
    mt_trace_list_clear(&arguments->baselines);
    mt_trace_list_clear(&arguments->pinned);
    mt_trace_list_clear(&arguments->since);
}

static mt_allowed_ends find(const char *name, size_t size)
{
    if (size == 3 && !memcmp(name, "any", size))
        return ~0u;
    enum mt_ended_how how = mt_ended_find(name, size);
    return how == MT_ENDED_COUNT ? 0 : 1u << how;
}

int mt_note_allowed(const struct mt_typed *typed)
{
    mt_allowed_ends *allowed = typed->place;
    for (const char *at = typed->value;; at++) {
        size_t n = strcspn(at, ",");
        mt_allowed_ends found = find(at, n);
        if (!found) {
            mt_fail_unknown(typed->command, "end of a run", at, n, MT_ALLOWED_CHOICES);
            return -1;
        }
        *allowed |= found;
        at += n;
        if (!*at)
            return 0;
    }
}
