/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/report/oom-report.h"
#include "commands.h"
#include "planner/advice/oom-advice.h"
#include "tools/memtap/fit/run/again.h"
#include "tools/memtap/input/trace-arguments.h"
#include "tools/memtap/launch/page-file.h"
#include "tools/memtap/terminal/command.h"

#include <errno.h>

static struct mt_advisor advisor;

static int print(const struct mt_analysis *analysis, const struct mt_trace_arguments *arguments)
{
    struct mt_oom_story story;
    struct mt_style style = mt_terminal_style();
    int rc = mt_oom_explain(&story, analysis);
    char made[PATH_MAX];
    if (rc == -ENOENT)
        return mt_fail("%s: the program never ran out of memory; see memtap report",
                       mt_trace_name(arguments));
    if (!rc && !arguments->html && advisor.gathering)
        rc = mt_advise(&advisor, analysis, &story);
    int code = !rc && arguments->tries ? mt_run_again(&story, analysis, arguments->path) : 0;
    if (code)
        return code;
    if (!rc && arguments->html) /* the page of a run that ran out has the story */
        rc = mt_save_page(arguments->html,
                          &(struct mt_page_content){.paths = arguments->paths, .n = 1}, made);
    else if (!rc && arguments->format == MT_FORMAT_JSON)
        rc = mt_oom_json(&story, analysis, stdout) == -ENOMEM ? -ENOMEM : 0;
    else if (!rc)
        mt_oom_text(&story, analysis, stdout, &style);
    return rc;
}

int mt_run_oom(const struct mt_command *command, int argc, char **argv)
{
    struct mt_trace_arguments arguments;
    if (mt_read_trace_arguments(command, argc, argv, MT_TRACE_OUT_OF_MEMORY, &arguments))
        return MT_EXIT_BAD;
    arguments.question.moment.kind = MT_AT_OOM;
    /* Only where memory ran out are the requests worth their memory. */
    if (mt_ran_out(arguments.path) && mt_advisor_watch(&advisor, &arguments.question))
        return mt_fail_memory();
    int code = mt_on_trace(&arguments, print);
    mt_advisor_clear(&advisor);
    return code;
}
