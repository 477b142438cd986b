/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/report/report.h"
#include "commands.h"
#include "tools/memtap/input/trace-arguments.h"
#include "tools/memtap/terminal/command.h"

#include <errno.h>

static int print(const struct mt_analysis *analysis, const struct mt_trace_arguments *arguments)
{
    struct mt_style style = mt_terminal_style();
    if (!mt_has_moment(analysis, arguments))
        return MT_EXIT_BAD;
    mt_print_ended(analysis, arguments);
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
    if (mt_read_trace_arguments(command, argc, argv, MT_ONE_TRACE, &arguments))
        return MT_EXIT_BAD;
    return mt_on_trace(&arguments, print);
}
