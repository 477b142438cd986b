/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/blocks.h"
#include "command.h"
#include "terminal.h"

#include <errno.h>

static int print(const struct mt_analysis *analysis, enum mt_format format)
{
    if (format == MT_FORMAT_JSON)
        return mt_blocks_json(analysis, stdout) == -ENOMEM ? -ENOMEM : 0;
    struct mt_style style = mt_terminal_style();
    if (format == MT_FORMAT_CSV)
        mt_blocks_csv(analysis, stdout);
    else
        mt_blocks_table(analysis, stdout, &style);
    return 0;
}

int mt_run_blocks(const struct mt_command *command, int argc, char **argv)
{
    struct mt_trace_arguments arguments;
    struct mt_analysis analysis;
    int code = MT_EXIT_OK;
    if (mt_read_trace_arguments(command, argc, argv, &arguments)) {
        mt_trace_arguments_clear(&arguments);
        return MT_EXIT_BAD;
    }
    int rc = mt_analysis_create(&analysis, arguments.path, &arguments.question);
    if (!rc && !mt_has_moment(&analysis, &arguments))
        code = MT_EXIT_BAD;
    else if (!rc)
        rc = print(&analysis, arguments.format);
    struct mt_trace_error fault = analysis.fault;
    mt_analysis_destroy(&analysis);
    mt_trace_arguments_clear(&arguments);
    return rc || fault.fault ? mt_fail_trace(arguments.path, &fault) : code;
}
