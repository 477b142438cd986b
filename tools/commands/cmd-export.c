/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/new-file.h"
#include "commands.h"
#include "exchange/export/export.h"
#include "tools/input/trace-arguments.h"
#include "tools/launch/package.h"
#include "tools/terminal/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AT = 256, FROM, TO, NEWEST, TABLE, WITH, DEVICE, NO_LABELS, RULES };

/* clang-format off */
const struct mt_option mt_export_options[] = {
    {'f', "format", "FORMAT", "{}; parquet: -o names a folder", MT_EXPORT_NAMES},
    {'o', "output", "FILE", "write there (default: standard output)"},
    {AT, "at", "MOMENT", "what is live then: peak, end, oom, a time such as 1.5s,\nevent:N, begin:N or step:N", "peak end oom"},
    {FROM, "from", "TIME", "leave out what ended before this time"},
    {TO, "to", "TIME", "leave out what began after this time"},
    {NEWEST, "newest", "N", "memory_viz: the newest N events at most"},
    {TABLE, "table", "NAME", "csv, arrow: {}; the default is blocks", MT_TABLE_NAMES},
    {WITH, "with", "FILE", "perfetto: join what torch.profiler or Nsight Systems\nrecorded of the same run"},
    {DEVICE, "device", "N", "only CUDA's device N"},
    {NO_LABELS, "no-labels", NULL, "classify by stacks and lifetimes, without autograd's\nlabels"},
    {RULES, "rules", "FILE", "apply your own rules first: memtap-rules(5)"},
    {0}};
/* clang-format on */

struct arguments {
    const struct mt_export_format *format;
    const char *output; /* NULL: stdout */
    struct mt_export export;
    struct mt_user_rules *rules;
    struct mt_trace_list traces;
    char **operands; /* of the command line */
    int n_operands;
    unsigned given; /* enum mt_export_takes, of the options that were given */
};

static int read_time(const struct mt_command *command, const char *value, uint64_t *ns)
{
    struct mt_moment moment;
    if (mt_moment_parse(value, &moment) || moment.kind != MT_AT_TIME)
        return mt_fail_usage(
            command, "'%s' is not a time; use one with its unit, such as 1.5s or 20ms", value);
    *ns = moment.value;
    return 0;
}

static int read_option(const struct mt_command *command, int letter, const char *value,
                       struct arguments *arguments)
{
    struct mt_export *export = &arguments->export;
    uint64_t number;
    size_t at;
    switch (letter) {
    case 'f':
        if (mt_read_choice(command, "format", value, MT_EXPORT_NAMES, &at))
            return MT_EXIT_BAD;
        arguments->format = &mt_export_formats[at];
        return 0;
    case 'o':
        arguments->output = strcmp(value, "-") ? value : NULL;
        return 0;
    case AT:
        arguments->given |= MT_TAKES_MOMENT;
        export->has_moment = true;
        return mt_read_moment(command, value, &export->question.moment);
    case FROM:
    case TO:
        arguments->given |= MT_TAKES_TIMES;
        export->has_times = true;
        return read_time(command, value, letter == FROM ? &export->from_ns : &export->to_ns);
    case NEWEST:
        arguments->given |= MT_TAKES_NEWEST;
        return mt_read_number(command, "newest", value, 0, UINT64_MAX, &export->newest);
    case TABLE:
        arguments->given |= MT_TAKES_TABLE;
        if (mt_read_choice(command, "table", value, MT_TABLE_NAMES, &at))
            return MT_EXIT_BAD;
        export->table = (enum mt_table_id)at;
        return 0;
    case WITH:
        arguments->given |= MT_TAKES_WITH;
        export->with = value;
        return 0;
    case DEVICE:
        export->question.one_device = 1;
        if (mt_read_number(command, "device", value, 0, INT16_MAX, &number))
            return MT_EXIT_BAD;
        export->question.device = (int)number;
        return 0;
    case NO_LABELS:
        export->question.no_labels = 1;
        return 0;
    default:
        if (mt_read_rules(value, &arguments->rules))
            return MT_EXIT_BAD;
        export->question.rules = arguments->rules;
        return 0;
    }
}

/* Return whether the format takes what was given. */
static int check(const struct mt_command *command, const struct arguments *arguments)
{
    static const struct {
        unsigned bit;
        const char *option;
    } options[] = {{MT_TAKES_MOMENT, "--at"},
                   {MT_TAKES_TIMES, "--from and --to"},
                   {MT_TAKES_TABLE, "--table"},
                   {MT_TAKES_NEWEST, "--newest"},
                   {MT_TAKES_WITH, "--with"}};
    const struct mt_export *export = &arguments->export;
    if (!arguments->format)
        return mt_fail_usage(command, "no format given; use --format with one of %s",
                             MT_EXPORT_NAMES);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (arguments->given & options[i].bit & ~arguments->format->takes)
            return mt_fail_usage(command, "format %s does not take %s", arguments->format->name,
                                 options[i].option);
    if (export->has_moment && export->has_times)
        return mt_fail_usage(command, "give --at or --from and --to, not both");
    if (export->has_moment && export->table != MT_TABLE_BLOCKS &&
        export->table != MT_TABLE_CATEGORIES)
        return mt_fail_usage(command, "--at is about the tables blocks and categories");
    if (export->has_times && export->table > MT_TABLE_STACKS)
        return mt_fail_usage(command, "--from and --to are about the tables blocks and events");
    if (export->from_ns > export->to_ns)
        return mt_fail_usage(command, "--from is after --to");
    return 0;
}

static int read_arguments(const struct mt_command *command, int argc, char **argv,
                          struct arguments *arguments)
{
    const char *value;
    int operand, letter;
    *arguments = (struct arguments){.export.to_ns = UINT64_MAX};
    while ((letter = mt_options_next(command, argc, argv, &value, &operand)) > 0)
        if (read_option(command, letter, value, arguments))
            return MT_EXIT_BAD;
    if (letter < 0 || check(command, arguments))
        return MT_EXIT_BAD;
    arguments->operands = argv + operand;
    arguments->n_operands = argc - operand;
    if (!arguments->format->write)
        return 0;
    if (argc == operand ? mt_trace_list_add_newest(&arguments->traces, ".")
                        : mt_trace_list_add(&arguments->traces, argv + operand, argc - operand))
        return MT_EXIT_BAD;
    if (arguments->traces.n > 1 && !(arguments->format->takes & MT_TAKES_SEVERAL))
        return mt_fail_usage(command, "format %s takes one trace at a time",
                             arguments->format->name);
    if (!arguments->output && arguments->format->is_binary && isatty(STDOUT_FILENO))
        return mt_fail_usage(command,
                             "format %s is binary, and standard output a terminal; use -o FILE",
                             arguments->format->name);
    arguments->export.paths = arguments->traces.path;
    arguments->export.n_paths = arguments->traces.n;
    return mt_trace_list_refuse(&arguments->traces, arguments->output);
}

static int print_result(const struct arguments *arguments, int rc,
                        const struct mt_export_error *error)
{
    if (*error->text)
        return error->path ? mt_fail("%s: %s", error->path, error->text)
                           : mt_fail("%s", error->text);
    if (error->path && (rc || error->fault.fault))
        return mt_fail_trace(error->path, &error->fault);
    if (rc == -ENOMEM)
        return mt_fail_memory();
    return rc ? mt_fail("%s: cannot be written: %s",
                        arguments->output ? arguments->output : "standard output",
                        mt_output_error(rc))
              : MT_EXIT_OK;
}

static int export(const struct arguments *arguments)
{
    struct mt_new_file file = {.fd = STDOUT_FILENO};
    struct mt_export_error error = {0};
    struct mt_sink *sink = calloc(1, sizeof *sink);
    int rc = sink ? 0 : -ENOMEM;
    if (!rc && arguments->output)
        rc = mt_new_file_open(&file, arguments->output, 0);
    if (rc) {
        free(sink);
        return print_result(arguments, rc, &error);
    }
    sink->fd = file.fd;
    rc = arguments->format->write(&arguments->export, sink, &error);
    if (!rc)
        rc = mt_sink_flush(sink);
    if (sink->rc) { /* whatever the format made of it */
        rc = sink->rc;
        error = (struct mt_export_error){0};
    }
    if (arguments->output && !rc)
        rc = mt_new_file_keep(&file);
    else if (arguments->output)
        mt_new_file_drop(&file);
    free(sink);
    return print_result(arguments, rc, &error);
}

/* A dataset of many ranks, which the Python package writes. */
static int write_dataset(const struct mt_command *command, const struct arguments *arguments)
{
    static char output[] = "-o", no_more_options[] = "--", here[] = ".";
    int n = 0;
    if (!arguments->output)
        return mt_fail_usage(command, "format %s is a folder of files; give it with -o",
                             arguments->format->name);
    if (arguments->rules || arguments->export.question.one_device ||
        arguments->export.question.no_labels)
        return mt_fail_usage(command, "format %s does not take --device, --no-labels or --rules",
                             arguments->format->name);
    char **given = calloc((size_t)arguments->n_operands + 4, sizeof *given);
    if (!given)
        return mt_fail_memory();
    given[n++] = output;
    given[n++] = (char *)arguments->output;
    given[n++] = no_more_options;
    for (int i = 0; i < arguments->n_operands; i++)
        given[n++] = arguments->operands[i];
    if (!arguments->n_operands)
        given[n++] = here;
    int code = mt_package_become(arguments->format->name, given, n);
    free(given);
    return code;
}

int mt_run_export(const struct mt_command *command, int argc, char **argv)
{
    struct arguments arguments;
    int code = read_arguments(command, argc, argv, &arguments);
    if (!code)
        code = arguments.format->write ? export(&arguments) : write_dataset(command, &arguments);
    mt_trace_list_clear(&arguments.traces);
    mt_user_rules_destroy(arguments.rules);
    return code;
}
