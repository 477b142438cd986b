/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/oom.h"
#include "command.h"
#include "terminal.h"

#include <errno.h>

static int print(const struct mt_analysis *analysis, enum mt_format format)
{
    struct mt_oom_story story;
    struct mt_style style = mt_terminal_style();
    int rc = mt_oom_explain(&story, analysis);
    if (!rc && format == MT_FORMAT_JSON)
        rc = mt_oom_json(&story, analysis, stdout) == -ENOMEM ? -ENOMEM : 0;
    else if (!rc)
        mt_oom_text(&story, analysis, stdout, &style);
    return rc;
}

int mt_run_oom(const struct mt_command *command, int argc, char **argv)
{
    struct mt_trace_arguments arguments;
    struct mt_analysis analysis;
    int code = MT_EXIT_OK;
    if (mt_read_trace_arguments(command, argc, argv, &arguments)) {
        mt_trace_arguments_clear(&arguments);
        return MT_EXIT_BAD;
    }
    arguments.question.moment.kind = MT_AT_OOM;
    int rc = mt_analysis_create(&analysis, arguments.path, &arguments.question);
    if (!rc)
        rc = print(&analysis, arguments.format);
    if (rc == -ENOENT) {
        rc = 0;
        code = mt_fail("%s: memory never ran out in it; see memtap report", arguments.path);
    }
    struct mt_trace_error fault = analysis.fault;
    mt_analysis_destroy(&analysis);
    mt_trace_arguments_clear(&arguments);
    return rc || fault.fault ? mt_fail_trace(arguments.path, &fault) : code;
}
