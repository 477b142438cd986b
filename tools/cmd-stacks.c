/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/stacks.h"
#include "command.h"
#include "terminal.h"

#include <errno.h>

static int print(const struct mt_analysis *analysis, const struct mt_trace_arguments *arguments)
{
    struct mt_style style = mt_terminal_style();
    if (arguments->format == MT_FORMAT_JSON)
        return mt_stacks_json(analysis, stdout) == -ENOMEM ? -ENOMEM : 0;
    if (arguments->format == MT_FORMAT_FOLDED)
        return mt_stacks_folded(analysis, stdout);
    return mt_stacks_tree(analysis, arguments->bottom_up ? MT_BOTTOM_UP : MT_TOP_DOWN, stdout,
                          &style);
}

int mt_run_stacks(const struct mt_command *command, int argc, char **argv)
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
        rc = print(&analysis, &arguments);
    struct mt_trace_error fault = analysis.fault;
    mt_analysis_destroy(&analysis);
    mt_trace_arguments_clear(&arguments);
    return rc || fault.fault ? mt_fail_trace(arguments.path, &fault) : code;
}
