/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/report/job-report.h"
#include "analyzer/report/report.h"
#include "commands.h"
#include "tools/input/trace-arguments.h"
#include "tools/launch/page-file.h"
#include "tools/terminal/command.h"
#include "tools/terminal/terminal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

static int by_rank(const void *left, const void *right)
{
    long a = mt_rank(left), b = mt_rank(right);
    return (a > b) - (a < b);
}

/* Return whether all traces are of one job; false after a message. */
static bool are_one_job(const struct mt_trace_arguments *arguments,
                        const struct mt_analysis *analyses)
{
    const char *why;
    for (int i = 0; i < arguments->n_paths; i++)
        for (int j = i + 1; j < arguments->n_paths; j++)
            if (!mt_same_job(&analyses[i], &analyses[j], &why)) {
                mt_fail("%s and %s are not from the same job: %s", arguments->paths[i],
                        arguments->paths[j], why);
                return false;
            }
    return true;
}

static int print(const struct mt_trace_arguments *arguments, struct mt_analysis *analyses)
{
    size_t n = (size_t)arguments->n_paths;
    bool is_json = arguments->format == MT_FORMAT_JSON;
    struct mt_style style = mt_terminal_style();
    if (n > 1)
        qsort(analyses, n, sizeof *analyses, by_rank);
    if (is_json)
        return n > 1 ? mt_job_json(analyses, n, stdout) : mt_report_json(analyses, stdout);
    if (n > 1)
        mt_job_text(analyses, n, stdout, &style);
    else
        mt_report_text(analyses, stdout, &style);
    return 0;
}

static int report(struct mt_trace_arguments *arguments, struct mt_analysis *analyses)
{
    int code = MT_EXIT_OK, rc = 0, read = 0;
    for (; read < arguments->n_paths && !rc; read++) {
        arguments->path = arguments->paths[read];
        rc = mt_analysis_create(&analyses[read], arguments->path, &arguments->question);
        if (!rc && !mt_has_moment(&analyses[read], arguments))
            code = MT_EXIT_BAD;
    }
    struct mt_trace_error fault = {0};
    for (int i = 0; i < read && !fault.fault; i++) {
        fault = analyses[i].fault;
        arguments->path = arguments->paths[i];
    }
    if (!rc && !code && !are_one_job(arguments, analyses))
        code = MT_EXIT_BAD;
    if (!rc && !code)
        rc = print(arguments, analyses) == -ENOMEM ? -ENOMEM : 0;
    for (int i = 0; i < read; i++)
        mt_analysis_destroy(&analyses[i]);
    return rc || fault.fault ? mt_fail_trace(arguments->path, &fault) : code;
}

static int report_all(struct mt_trace_arguments *arguments)
{
    char made[PATH_MAX];
    if (arguments->html)
        return mt_save_page(
            arguments->html,
            &(struct mt_page_content){.paths = arguments->paths, .n = arguments->n_paths}, made);
    struct mt_analysis *analyses = calloc((size_t)arguments->n_paths, sizeof *analyses);
    int code = analyses ? report(arguments, analyses) : mt_fail("out of memory");
    free(analyses);
    return code;
}

int mt_run_report(const struct mt_command *command, int argc, char **argv)
{
    struct mt_trace_arguments arguments;
    if (mt_read_trace_arguments(command, argc, argv, &arguments))
        return MT_EXIT_BAD;
    int code = report_all(&arguments);
    mt_trace_arguments_clear(&arguments);
    return code;
}
