/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/new-file.h"
#include "commands.h"
#include "exchange/export/export.h"
#include "tools/memtap/input/trace-arguments.h"
#include "tools/memtap/input/traces.h"
#include "tools/memtap/launch/locate.h"
#include "tools/memtap/metrics/profiles.h"
#include "tools/memtap/terminal/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEPT_FILES "1440" /* a day of minutes */

struct arguments {
    const struct mt_export_format *format;
    const char *output; /* NULL: stdout */
    struct mt_export export;
    struct mt_user_rules *rules;
    struct mt_trace_list traces;
    char **operands; /* of the command line */
    int n_operands;
    double every_s; /* 0: once */
    uint64_t keep;  /* files, with --every */
    unsigned given; /* enum mt_export_accepts, of the options that were given */
};

static int note_format(const struct mt_typed *typed)
{
    struct arguments *arguments = typed->arguments;
    size_t at;
    if (mt_read_choice(typed->command, "format", typed->value, MT_EXPORT_NAMES, &at))
        return MT_EXIT_BAD;
    arguments->format = &mt_export_formats[at];
    return 0;
}

static int note_at(const struct mt_typed *typed)
{
    struct arguments *arguments = typed->arguments;
    arguments->given |= MT_ACCEPTS_MOMENT;
    arguments->export.has_moment = true;
    return mt_note_moment(typed);
}

static int note_time(const struct mt_typed *typed)
{
    struct arguments *arguments = typed->arguments;
    struct mt_moment moment;
    arguments->given |= MT_ACCEPTS_TIMES;
    arguments->export.has_times = true;
    if (mt_moment_parse(typed->value, &moment) || moment.kind != MT_AT_TIME)
        return mt_fail_usage(typed->command,
                             "'%s' is not a time; use one with its unit, such as 1.5s or 20ms",
                             typed->value);
    *(uint64_t *)typed->place = moment.value;
    return 0;
}

static int note_newest(const struct mt_typed *typed)
{
    ((struct arguments *)typed->arguments)->given |= MT_ACCEPTS_NEWEST;
    return mt_note_number(typed);
}

static int note_table(const struct mt_typed *typed)
{
    struct arguments *arguments = typed->arguments;
    size_t at = 0;
    arguments->given |= MT_ACCEPTS_TABLE;
    int rc = mt_read_choice(typed->command, "table", typed->value, MT_TABLE_NAMES, &at);
    arguments->export.table = (enum mt_table_id)at;
    return rc;
}

static int note_with(const struct mt_typed *typed)
{
    ((struct arguments *)typed->arguments)->given |= MT_ACCEPTS_WITH;
    return mt_note_text(typed);
}

static int note_every(const struct mt_typed *typed)
{
    struct arguments *arguments = typed->arguments;
    arguments->given |= MT_ACCEPTS_EVERY;
    return mt_read_time(typed->command, "every", typed->value, 1, 86400, &arguments->every_s);
}

/* clang-format off */
#define PLACE(member) offsetof(struct arguments, member)
const struct mt_option mt_export_options[] = {
    {'f', "format", "FORMAT", "{}; parquet: -o names a folder", MT_EXPORT_NAMES, note_format},
    {'o', "output", "FILE", "write there (default: standard output)", NULL, mt_note_output, PLACE(output)},
    MT_FORCE_OPTION,
    {0, "at", "MOMENT", "what is live then: peak, end, oom, last-turn, a time such as\n1.5s, event:N, begin:N or step:N", "peak end oom last-turn",
     note_at, PLACE(export.question.moment)},
    {0, "from", "TIME", "leave out what ended before this time", NULL, note_time, PLACE(export.from_ns)},
    {0, "to", "TIME", "leave out what began after this time", NULL, note_time, PLACE(export.to_ns)},
    {0, "newest", "N", "memory_viz: the newest N events at most", NULL, note_newest, PLACE(export.newest), 0, UINT64_MAX},
    {0, "table", "NAME", "csv, arrow: {}; the default is blocks", MT_TABLE_NAMES, note_table},
    {0, "with", "FILE", "perfetto: merge a recording of the same run by\ntorch.profiler or Nsight Systems", NULL,
     note_with, PLACE(export.with)},
    {0, "every", "SECONDS", "pprof: write what is live in a running program at this\ninterval, one file each time in the folder -o", NULL, note_every},
    {0, "keep", "N", "with --every: keep the newest N files (" KEPT_FILES ")", NULL, mt_note_number, PLACE(keep), 1, 1000000},
    MT_DEVICE_OPTION(arguments, export.question, "only CUDA device N"),
    {0, "no-labels", NULL, "classify by stacks and lifetimes, without autograd's\nlabels", NULL, mt_note_flag,
     PLACE(export.question.no_labels)},
    MT_RULES_OPTION(arguments, rules),
    MT_REDACT_OPTION,
    {0}};
/* clang-format on */

/* Return whether the format takes what was given. */
static int check(const struct mt_command *command, const struct arguments *arguments)
{
    static const struct {
        unsigned bit;
        const char *option;
    } options[] = {{MT_ACCEPTS_MOMENT, "--at"},   {MT_ACCEPTS_TIMES, "--from and --to"},
                   {MT_ACCEPTS_TABLE, "--table"}, {MT_ACCEPTS_NEWEST, "--newest"},
                   {MT_ACCEPTS_WITH, "--with"},   {MT_ACCEPTS_EVERY, "--every"}};
    const struct mt_export *export = &arguments->export;
    if (!arguments->format)
        return mt_fail_usage(command, "no format given; use --format with one of %s",
                             MT_EXPORT_NAMES);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (arguments->given & options[i].bit & ~arguments->format->accepts)
            return mt_fail_usage(command, "format %s does not take %s", arguments->format->name,
                                 options[i].option);
    if (arguments->keep && !arguments->every_s)
        return mt_fail_usage(command, "--keep requires --every");
    if (arguments->every_s && export->has_moment)
        return mt_fail_usage(command, "give --at or --every, not both");
    struct stat status;
    if (arguments->every_s && !arguments->output)
        return mt_fail_usage(command, "--every fills a folder; name it with -o FOLDER");
    if (arguments->every_s && !stat(arguments->output, &status) && !S_ISDIR(status.st_mode))
        return mt_fail("%s: is a file; --every fills a folder", arguments->output);
    if (export->has_moment && export->has_times)
        return mt_fail_usage(command, "give --at or --from and --to, not both");
    if (export->has_moment && export->table != MT_TABLE_BLOCKS &&
        export->table != MT_TABLE_CATEGORIES)
        return mt_fail_usage(command, "--at applies only to the tables blocks and categories");
    if (export->has_times && export->table > MT_TABLE_STACKS)
        return mt_fail_usage(command, "--from and --to apply only to the tables blocks and events");
    if (export->from_ns > export->to_ns)
        return mt_fail_usage(command, "--from is after --to");
    return 0;
}

static int read_arguments(const struct mt_command *command, int argc, char **argv,
                          struct arguments *arguments)
{
    *arguments = (struct arguments){.export.to_ns = UINT64_MAX};
    int operand = mt_options_read(command, argc, argv, arguments);
    if (operand < 0 || check(command, arguments))
        return MT_EXIT_BAD;
    if (!arguments->keep)
        arguments->keep = strtoull(KEPT_FILES, NULL, 10);
    arguments->export.question.rules = arguments->rules;
    arguments->operands = argv + operand;
    arguments->n_operands = argc - operand;
    if (!arguments->format->write)
        return 0;
    if (arguments->every_s
            ? mt_find_live_traces(&arguments->traces, argv + operand, argc - operand)
            : mt_trace_list_add_operands(&arguments->traces, argv + operand, argc - operand))
        return MT_EXIT_BAD;
    if (arguments->traces.n > 1 && !(arguments->format->accepts & MT_ACCEPTS_SEVERAL))
        return mt_fail_usage(command, "format %s takes one trace at a time",
                             arguments->format->name);
    if (!arguments->output && arguments->format->is_binary && isatty(STDOUT_FILENO))
        return mt_fail_usage(command,
                             "format %s is binary and standard output is a terminal; use -o FILE",
                             arguments->format->name);
    arguments->export.paths = arguments->traces.path;
    arguments->export.n_paths = arguments->traces.n;
    return 0;
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

/* Say which traces have neither an end nor a tail. */
static void note_open(const struct mt_export *export)
{
    struct mt_reader *reader;
    struct mt_trace_error error;
    for (size_t i = 0; i < export->n_paths; i++) {
        if (mt_reader_open(&reader, export->paths[i], &error))
            continue;
        if (mt_reader_state(reader) == MT_TRACE_OPEN)
            mt_say("%s: the recording was not closed; the trace may lack its end",
                   export->paths[i]);
        mt_reader_close(reader);
    }
}

static int export(const struct arguments *arguments)
{
    struct mt_new_file file = {.fd = STDOUT_FILENO};
    struct mt_export_error error = {0};
    struct mt_sink *sink = calloc(1, sizeof *sink);
    int rc = sink ? 0 : -ENOMEM;
    if (!rc && arguments->output)
        rc = mt_new_file_open(&file, arguments->output, MT_FILE_AS_INPUTS);
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
    if (!rc && !error.fault.fault)
        note_open(&arguments->export);
    return print_result(arguments, rc, &error);
}

static int write_profiles(struct arguments *arguments)
{
    arguments->export.question.folds_spans = true;
    return mt_profiles_write(&(struct mt_profiles){.folder = arguments->output,
                                                   .every_s = arguments->every_s,
                                                   .keep = arguments->keep,
                                                   .traces = &arguments->traces,
                                                   .question = &arguments->export.question});
}

/* Write a dataset of many ranks, which the Python package does. */
static int write_dataset(const struct mt_command *command, const struct arguments *arguments)
{
    static char output[] = "-o", no_more_options[] = "--", here[] = ".";
    int n = 0;
    if (!arguments->output)
        return mt_fail_usage(command, "format %s writes a folder; name it with -o",
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
        code = arguments.every_s         ? write_profiles(&arguments)
               : arguments.format->write ? export(&arguments)
                                         : write_dataset(command, &arguments);
    mt_trace_list_clear(&arguments.traces);
    mt_user_rules_destroy(arguments.rules);
    return code;
}
