/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/report/oom-report.h"
#include "commands.h"
#include "tools/input/trace-arguments.h"
#include "tools/launch/page-file.h"
#include "tools/terminal/command.h"
#include "tools/terminal/terminal.h"

#include <errno.h>

static int save(const struct mt_trace_arguments *arguments)
{
    char made[PATH_MAX];
    return mt_save_page(arguments->html, arguments->paths, 1, made);
}

static int print(const struct mt_analysis *analysis, const struct mt_trace_arguments *arguments)
{
    struct mt_oom_story story;
    struct mt_style style = mt_terminal_style();
    int rc = mt_oom_explain(&story, analysis);
    if (rc == -ENOENT)
        return mt_fail("%s: the program never ran out of memory; see memtap report", arguments->path);
    if (!rc && arguments->html)
        rc = save(arguments);
    else if (!rc && arguments->format == MT_FORMAT_JSON)
        rc = mt_oom_json(&story, analysis, stdout) == -ENOMEM ? -ENOMEM : 0;
    else if (!rc)
        mt_oom_text(&story, analysis, stdout, &style);
    return rc;
}

int mt_run_oom(const struct mt_command *command, int argc, char **argv)
{
    struct mt_trace_arguments arguments;
    if (mt_read_trace_arguments(command, argc, argv, &arguments))
        return MT_EXIT_BAD;
    arguments.question.moment.kind = MT_AT_OOM;
    return mt_on_trace(&arguments, print);
}
