/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that read a trace have in common on their command lines. */
#include "command.h"

#include <string.h>

enum { AT = 256, NO_LABELS };

#define FORMAT_OPTION                                                                              \
    {                                                                                              \
        'f', "format", "FORMAT", "text (the default) or json"                                      \
    }
#define NO_LABELS_OPTION                                                                           \
    {                                                                                              \
        NO_LABELS, "no-labels", NULL,                                                              \
            "classify without what autograd said: by stacks and lifetimes"                         \
    }

const struct mt_option mt_trace_options[] = {FORMAT_OPTION, {0}};
const struct mt_option mt_report_options[] = {FORMAT_OPTION, NO_LABELS_OPTION, {0}};
const struct mt_option mt_blocks_options[] = {
    {'f', "format", "FORMAT", "text (the default), csv or json"},
    {AT, "at", "MOMENT",
     "peak (the default), end, oom, a time such as 1.5s,\n20ms or 8000ns, or event:N"},
    NO_LABELS_OPTION,
    {0}};

static const char *const formats[] = {
    [MT_FORMAT_TEXT] = "text", [MT_FORMAT_JSON] = "json", [MT_FORMAT_CSV] = "csv"};

static int read_format(const struct mt_command *command, const char *value, enum mt_format *format)
{
    unsigned n = sizeof formats / sizeof *formats;
    int takes_csv = strstr(command->options->help, "csv") != NULL;
    for (unsigned i = 0; i < (takes_csv ? n : n - 1); i++)
        if (!strcmp(value, formats[i])) {
            *format = (enum mt_format)i;
            return 0;
        }
    mt_fail_usage(command, "unknown format '%s'; use text%s json", value,
                  takes_csv ? ", csv or" : " or");
    return -1;
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

static int read_option(const struct mt_command *command, int letter, const char *value,
                       struct mt_trace_arguments *arguments)
{
    switch (letter) {
    case 'f':
        return read_format(command, value, &arguments->format);
    case AT:
        return read_moment(command, value, &arguments->question.moment);
    case NO_LABELS:
        arguments->question.no_labels = 1;
        return 0;
    }
    return -1;
}

int mt_read_trace_arguments(const struct mt_command *command, int argc, char **argv,
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
    if (operand == argc)
        mt_fail_usage(command, "no trace given");
    else if (operand + 1 < argc)
        mt_fail_usage(command, "one trace at a time; '%s' is one too many", argv[operand + 1]);
    else
        arguments->path = argv[operand];
    return arguments->path ? 0 : -1;
}
