/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/report.h"
#include "command.h"
#include "terminal.h"

#include <errno.h>

int mt_run_report(const struct mt_command *command, int argc, char **argv)
{
    struct mt_trace_arguments arguments;
    struct mt_analysis analysis;
    if (mt_read_trace_arguments(command, argc, argv, &arguments)) {
        mt_trace_arguments_clear(&arguments);
        return MT_EXIT_BAD;
    }
    int rc = mt_analysis_create(&analysis, arguments.path, &arguments.question);
    int missing = !rc && !mt_has_moment(&analysis, &arguments);
    if (!rc && !missing && arguments.format == MT_FORMAT_JSON) {
        rc = mt_report_json(&analysis, stdout) == -ENOMEM ? -ENOMEM : 0;
    } else if (!rc && !missing) {
        struct mt_style style = mt_terminal_style();
        mt_report_text(&analysis, stdout, &style);
    }
    struct mt_trace_error fault = analysis.fault;
    mt_analysis_destroy(&analysis);
    mt_trace_arguments_clear(&arguments);
    return rc || fault.fault ? mt_fail_trace(arguments.path, &fault)
           : missing         ? MT_EXIT_BAD
                             : MT_EXIT_OK;
}
