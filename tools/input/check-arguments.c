/* SPDX-License-Identifier: Apache-2.0 */
#include "check-arguments.h"
#include "allow-ended.h"
#include "tools/terminal/values.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { AGAINST = 256, ALLOW_ENDED, BUDGET, RULES, SUMMARY, TODAY, ALLOW_UNKNOWN };

const struct mt_option mt_check_options[] = {
    {AGAINST, "against", "BASELINE...",
     "compare with these runs: all traces up to the next option"},
    {BUDGET, "budget", "FILE", "check against this budget: memtap-budget(5)"},
    MT_ALLOW_ENDED_OPTION(ALLOW_ENDED),
    {ALLOW_UNKNOWN, "allow-unknown", NULL,
     "accept a run whose sizes hang on values that the simulated\ncard did not compute"},
    MT_CHECK_FORMAT_OPTION('f'),
    MT_CHECK_SUMMARY_OPTION(SUMMARY),
    {TODAY, "today", "DATE", "apply the allowances of this day (2027-01-31)"},
    {RULES, "rules", "FILE", "apply your own rules first: memtap-rules(5)"},
    {0}};

/* The options read so far. */
struct reading {
    struct mt_check_arguments *arguments;
    const struct mt_command *command;
    const char *budget;
    int year, month, day;
};

/* A shell expands a pattern to many words: all are baselines. */
static int read_against(struct reading *reading, int argc, char **argv)
{
    int begin = optind - 1;
    while (optind < argc && *argv[optind] != '-')
        optind++;
    return mt_trace_list_add(&reading->arguments->baselines, argv + begin, optind - begin);
}

int mt_read_check_format(const struct mt_command *command, const char *value,
                         struct mt_check_arguments *arguments)
{
    size_t n = strcspn(value, ":"), at;
    char *name = strndup(value, n);
    const struct mt_check_format *format = mt_check_formats;
    int rc = name
                 ? mt_read_choice(command, "format", name, mt_option_of(command, 'f')->choices, &at)
                 : mt_fail("out of memory");
    while (!rc && strcmp(format->name, name))
        format++;
    free(name);
    if (rc)
        return rc;
    if (arguments->n_outputs == MT_MOST_OUTPUTS)
        return mt_fail_usage(command, "more than %d formats given", MT_MOST_OUTPUTS);
    arguments->output[arguments->n_outputs].format = format;
    arguments->output[arguments->n_outputs++].path = value[n] ? value + n + 1 : "";
    return 0;
}

static int read_today(struct reading *reading, const char *value)
{
    struct tm day = {0};
    const char *end = strptime(value, "%Y-%m-%d", &day);
    if (!end || *end)
        return mt_fail_usage(reading->command, "'%s' is not a date; give one such as 2027-01-31",
                             value);
    reading->year = day.tm_year + 1900;
    reading->month = day.tm_mon + 1;
    reading->day = day.tm_mday;
    return 0;
}

static int read_option(struct reading *reading, int letter, int argc, char **argv,
                       const char *value)
{
    switch (letter) {
    case AGAINST:
        return read_against(reading, argc, argv);
    case ALLOW_ENDED:
        return mt_read_allowed(reading->command, value, &reading->arguments->allowed);
    case ALLOW_UNKNOWN:
        reading->arguments->allows_unknown = true;
        return 0;
    case BUDGET:
        reading->budget = value;
        return 0;
    case 'f':
        return mt_read_check_format(reading->command, value, reading->arguments);
    case SUMMARY:
        reading->arguments->summary = value;
        return 0;
    case TODAY:
        return read_today(reading, value);
    case RULES:
        return mt_read_rules(value, &reading->arguments->rules);
    }
    return -1;
}

static int fail_budget(const char *path, int rc, const struct mt_budget_error *error)
{
    if (rc == -ENOMEM)
        return mt_fail("%s: out of memory", path);
    if (error->line)
        return mt_fail("%s:%u:%u: %s", path, error->line, error->column, error->text);
    return mt_fail("%s: %s", path, error->text);
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
        return fail_budget(path ? path : "the default", rc, &error);
    gmtime_r(&now, &today);
    mt_budget_set_today(&arguments->budget, today.tm_year + 1900, today.tm_mon + 1, today.tm_mday);
    return 0;
}

/* Refuse a limit that is relative where there is nothing to compare with. */
static int check_budget(const struct reading *reading)
{
    struct mt_check_arguments *arguments = reading->arguments;
    const struct mt_limit *relative = mt_budget_relative(&arguments->budget);
    if (relative && !arguments->baselines.n)
        return mt_fail("%s:%u:%u: \"%s\" for %s is relative: it needs --against BASELINE",
                       reading->budget ? reading->budget : "the default", relative->line,
                       relative->column, relative->text, relative->name);
    if (reading->year)
        mt_budget_set_today(&arguments->budget, reading->year, reading->month, reading->day);
    return 0;
}

static bool is_complete(const struct reading *reading)
{
    const struct mt_check_arguments *arguments = reading->arguments;
    if (!arguments->runs.n && arguments->baselines.n > 1)
        mt_fail_usage(reading->command, "no trace to check: every trace after --against is a "
                                        "baseline; give the new traces first");
    else if (!arguments->runs.n)
        mt_fail_usage(reading->command, "no trace given");
    else if (!reading->budget && !arguments->baselines.n)
        mt_fail_usage(reading->command, "give --against BASELINE, or --budget FILE, or both");
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
    struct reading reading = {.arguments = arguments, .command = command};
    const char *value;
    int operand, letter;
    memset(arguments, 0, sizeof *arguments);
    while ((letter = mt_options_next(command, argc, argv, &value, &operand)) > 0)
        if (read_option(&reading, letter, argc, argv, value))
            return -1;
    if (letter < 0)
        return -1;
    if (mt_trace_list_add(&arguments->runs, argv + operand, argc - operand))
        return -1;
    mt_check_set_outputs(arguments);
    return !is_complete(&reading) || mt_check_read_budget(arguments, reading.budget) ||
                   check_budget(&reading)
               ? -1
               : 0;
}

void mt_check_arguments_clear(struct mt_check_arguments *arguments)
{
    mt_budget_clear(&arguments->budget);
    mt_user_rules_destroy(arguments->rules);
    mt_trace_list_clear(&arguments->runs);
    mt_trace_list_clear(&arguments->baselines);
}
