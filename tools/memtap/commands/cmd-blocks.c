/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/report/report.h"
#include "commands.h"
#include "exchange/export/export.h"
#include "tools/memtap/input/trace-arguments.h"
#include "tools/memtap/terminal/command.h"

#include <errno.h>
#include <stdlib.h>

/* Print what memtap export -f csv writes of this moment. */
static int print_csv(const struct mt_analysis *analysis, const char *path)
{
    struct mt_sink *sink = calloc(1, sizeof *sink);
    if (!sink)
        return -ENOMEM;
    sink->file = stdout;
    const struct mt_export export = {.paths = (char *const *)&path,
                                     .n_paths = 1,
                                     .question = analysis->replay.question,
                                     .has_moment = true};
    struct mt_export_error error = {0};
    int rc = mt_export_csv(&export, sink, &error);
    mt_sink_flush(sink);
    free(sink);
    return rc == -ENOMEM ? rc : MT_EXIT_OK;
}

static int print(const struct mt_analysis *analysis, const struct mt_trace_arguments *arguments)
{
    if (!mt_has_moment(analysis, arguments))
        return MT_EXIT_BAD;
    mt_print_ended(analysis, arguments);
    if (arguments->format == MT_FORMAT_JSON)
        return mt_blocks_json(analysis, stdout) == -ENOMEM ? -ENOMEM : 0;
    struct mt_style style = mt_terminal_style();
    if (arguments->format == MT_FORMAT_CSV)
        return print_csv(analysis, arguments->path);
    mt_blocks_table(analysis, stdout, &style);
    return MT_EXIT_OK;
}

int mt_run_blocks(const struct mt_command *command, int argc, char **argv)
{
    struct mt_trace_arguments arguments;
    if (mt_read_trace_arguments(command, argc, argv, MT_ONE_TRACE, &arguments))
        return MT_EXIT_BAD;
    return mt_on_trace(&arguments, print);
}
