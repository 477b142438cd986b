/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/report.h"
#include "command.h"
#include "terminal.h"

#include <errno.h>

int mt_run_report(const struct mt_command *command, int argc, char **argv)
{
    struct mt_trace_arguments arguments;
    struct mt_analysis analysis;
    if (mt_read_trace_arguments(command, argc, argv, &arguments))
        return MT_EXIT_BAD;
    int rc = mt_analysis_create(&analysis, arguments.path, &arguments.question);
    if (!rc && arguments.format == MT_FORMAT_JSON) {
        rc = mt_report_json(&analysis, stdout) == -ENOMEM ? -ENOMEM : 0;
    } else if (!rc) {
        struct mt_style style = mt_terminal_style();
        mt_report_text(&analysis, stdout, &style);
    }
    struct mt_trace_error fault = analysis.fault;
    mt_analysis_destroy(&analysis);
    return rc || fault.fault ? mt_fail_trace(arguments.path, &fault) : MT_EXIT_OK;
}
