/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"

int mt_on_trace(struct mt_trace_arguments *arguments, mt_trace_printer *print)
{
    struct mt_analysis analysis;
    int rc = mt_analysis_create(&analysis, arguments->path, &arguments->question);
    if (!rc)
        rc = print(&analysis, arguments);
    struct mt_trace_error fault = analysis.fault;
    mt_analysis_destroy(&analysis);
    mt_trace_arguments_clear(arguments);
    return rc < 0 || fault.fault ? mt_fail_trace(arguments->path, &fault) : rc;
}
