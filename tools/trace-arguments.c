/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that read a trace have in common on their command lines. */
#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { AT = 256, NO_LABELS, RULES, DEVICE, BOTTOM_UP, BY };

/* clang-format off */
#define FORMAT_OPTION(help) {'f', "format", "FORMAT", help}
#define AT_OPTION {AT, "at", "MOMENT",                                                             \
    "peak (the default), end, oom, a time such as 1.5s,\n20ms or 8000ns, or event:N"}
#define DEVICE_OPTION {DEVICE, "device", "N", "only CUDA's device N"}
#define NO_LABELS_OPTION {NO_LABELS, "no-labels", NULL,                                            \
    "classify without what autograd said: by stacks and lifetimes"}
#define RULES_OPTION {RULES, "rules", "FILE",                                                      \
    "rules of your own, which come first: memtap-rules(5)"}

/* What is asked of the trace, for all that classify it. */
#define QUESTION_OPTIONS AT_OPTION, DEVICE_OPTION, NO_LABELS_OPTION, RULES_OPTION

const struct mt_option mt_trace_options[] = {FORMAT_OPTION("text (the default) or json"), {0}};
const struct mt_option mt_report_options[] = {
    FORMAT_OPTION("text (the default) or json"),
    {BY, "by", "WHAT", "instead of call sites: dtype, file, function,\noperator, rule or stack"},
    QUESTION_OPTIONS, {0}};
const struct mt_option mt_blocks_options[] = {
    FORMAT_OPTION("text (the default), csv or json"), QUESTION_OPTIONS, {0}};
const struct mt_option mt_explain_options[] = {QUESTION_OPTIONS, {0}};
const struct mt_option mt_oom_options[] = {
    FORMAT_OPTION("text (the default) or json"), NO_LABELS_OPTION, RULES_OPTION, {0}};
const struct mt_option mt_stacks_options[] = {
    FORMAT_OPTION("text (the default), folded or json"),
    {BOTTOM_UP, "bottom-up", NULL, "begin with the innermost frames"}, QUESTION_OPTIONS, {0}};
/* clang-format on */

static const char *const formats[] = {[MT_FORMAT_TEXT] = "text",
                                      [MT_FORMAT_JSON] = "json",
                                      [MT_FORMAT_CSV] = "csv",
                                      [MT_FORMAT_FOLDED] = "folded"};

/* A command takes the formats that the help of its first option names. */
static int read_format(const struct mt_command *command, const char *value, enum mt_format *format)
{
    for (unsigned i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(value, formats[i]) && strstr(command->options->help, value)) {
            *format = (enum mt_format)i;
            return 0;
        }
    mt_fail_usage(command, "unknown format '%s'; use %s", value, command->options->help);
    return -1;
}

static int read_by(const struct mt_command *command, const char *value, enum mt_group_by *by)
{
    if (!mt_group_by_parse(value, by))
        return 0;
    mt_fail_usage(command, "cannot group by '%s'; use %s", value, mt_group_by_list());
    return -1;
}

static int read_device(const struct mt_command *command, const char *value,
                       struct mt_question *question)
{
    char *end;
    long number = strtol(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || number > INT16_MAX) {
        mt_fail_usage(command, "'%s' is no number of a device", value);
        return -1;
    }
    question->one_device = 1;
    question->device = (int)number;
    return 0;
}

static int read_moment(const struct mt_command *command, const char *value,
                       struct mt_moment *moment)
{
    if (!mt_moment_parse(value, moment))
        return 0;
    mt_fail_usage(command,
                  "'%s' is no moment; use peak, end, oom, a time with its unit (1.5s, 20ms, "
                  "8000ns) or event:N",
                  value);
    return -1;
}

int mt_read_rules(const char *path, struct mt_user_rules **rules)
{
    struct mt_rules_error error;
    mt_user_rules_destroy(*rules);
    int rc = mt_user_rules_read(rules, path, &error);
    if (!rc)
        return 0;
    if (rc == -ENOMEM)
        mt_fail("%s: out of memory", path);
    else if (error.line)
        mt_fail("%s:%u:%u: %s", path, error.line, error.column, error.text);
    else
        mt_fail("%s: %s", path, error.text);
    return -1;
}

static int read_option(const struct mt_command *command, int letter, const char *value,
                       struct mt_trace_arguments *arguments)
{
    int rc;
    switch (letter) {
    case 'f':
        return read_format(command, value, &arguments->format);
    case AT:
        return read_moment(command, value, &arguments->question.moment);
    case NO_LABELS:
        arguments->question.no_labels = 1;
        return 0;
    case BY:
        return read_by(command, value, &arguments->question.by);
    case DEVICE:
        return read_device(command, value, &arguments->question);
    case BOTTOM_UP:
        arguments->bottom_up = 1;
        return 0;
    case RULES:
        rc = mt_read_rules(value, &arguments->rules);
        arguments->question.rules = arguments->rules;
        return rc;
    }
    return -1;
}

int mt_has_moment(const struct mt_analysis *analysis, const struct mt_trace_arguments *arguments)
{
    const struct mt_question *question = &arguments->question;
    if (question->moment.kind == MT_AT_OOM && !analysis->replay.n_ooms)
        mt_fail("%s: memory never ran out in it; use --at peak", arguments->path);
    else if (question->one_device && !analysis->n_devices)
        mt_fail("%s: nothing was allocated on device %d", arguments->path, question->device);
    else
        return 1;
    return 0;
}

void mt_trace_arguments_clear(struct mt_trace_arguments *arguments)
{
    mt_user_rules_destroy(arguments->rules);
    arguments->rules = NULL;
}

static int read_all(const struct mt_command *command, int argc, char **argv,
                    struct mt_trace_arguments *arguments)
{
    const char *value;
    int operand, letter;
    memset(arguments, 0, sizeof *arguments);
    while ((letter = mt_options_next(command, argc, argv, &value, &operand)) > 0)
        if (read_option(command, letter, value, arguments))
            return -1;
    if (letter < 0)
        return -1;
    int more = command->options == mt_explain_options;
    int takes_many = command->options == mt_report_options;
    if (operand == argc)
        mt_fail_usage(command, "no trace given");
    else if (operand + 1 + more < argc && !takes_many)
        mt_fail_usage(command, "one trace at a time; '%s' is one too many",
                      argv[operand + 1 + more]);
    else if (operand + more == argc)
        mt_fail_usage(command, "no address or stack given");
    else
        arguments->path = argv[operand];
    arguments->paths = argv + operand;
    arguments->n_paths = argc - operand;
    arguments->what = more && arguments->path ? argv[operand + 1] : NULL;
    return arguments->path ? 0 : -1;
}

int mt_read_trace_arguments(const struct mt_command *command, int argc, char **argv,
                            struct mt_trace_arguments *arguments)
{
    int rc = read_all(command, argc, argv, arguments);
    if (rc)
        mt_trace_arguments_clear(arguments);
    return rc;
}
