/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/report/job-report.h"
#include "analyzer/report/report.h"
#include "analyzer/support/new-file.h"
#include "commands.h"
#include "tools/memtap/input/trace-arguments.h"
#include "tools/memtap/launch/manifest.h"
#include "tools/memtap/launch/page-file.h"
#include "tools/memtap/terminal/command.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Several traces, analyzed one after the other. */
struct job {
    struct mt_trace_arguments *arguments;
    struct mt_job_rank *ranks;
    size_t n;                    /* ranks accepted so far */
    struct mt_job_spool spool;   /* their reports, for JSON */
    struct mt_analysis *highest; /* the highest rank so far, for text */
    size_t highest_at;
    bool lacks_moment;
    int spool_error;             /* a negative errno: the spool cannot be written */
    struct mt_trace_error fault; /* the first one, of arguments->path */
};

static int print_one(const struct mt_analysis *analysis, const struct mt_trace_arguments *arguments)
{
    struct mt_style style = mt_terminal_style();
    if (!mt_has_moment(analysis, arguments))
        return MT_EXIT_BAD;
    if (arguments->format == MT_FORMAT_JSON)
        return mt_report_json(analysis, stdout) == -ENOMEM ? -ENOMEM : MT_EXIT_OK;
    mt_report_text(analysis, stdout, &style);
    return MT_EXIT_OK;
}

/* Return whether all traces belong to one job; false after a message. */
static bool are_one_job(const struct job *job)
{
    const char *why;
    for (size_t i = 0; i < job->n; i++)
        for (size_t j = i + 1; j < job->n; j++)
            if (!mt_same_job(&job->ranks[i], &job->ranks[j], &why)) {
                mt_fail("%s and %s are from two separate runs: %s; compare them with memtap diff",
                        job->arguments->paths[i], job->arguments->paths[j], why);
                return false;
            }
    return true;
}

static void drop(struct mt_analysis *analysis)
{
    if (analysis)
        mt_analysis_destroy(analysis);
    free(analysis);
}

/* Keep what the report needs of an analysis: for text, only the highest one. */
static int keep(struct job *job, struct mt_analysis *analysis)
{
    size_t at = job->n++;
    int rc = mt_job_rank_take(&job->ranks[at], analysis, at);
    job->ranks[at].path = job->arguments->paths[at];
    struct mt_analysis *unused = analysis;
    if (!rc && job->spool.file)
        rc = job->spool_error = mt_job_spool_add(&job->spool, &job->ranks[at], analysis);
    else if (!rc &&
             (!job->highest || mt_is_higher(&job->ranks[at], &job->ranks[job->highest_at]))) {
        unused = job->highest;
        job->highest = analysis;
        job->highest_at = at;
    }
    drop(unused);
    return rc;
}

static int analyze(struct job *job, const char *path)
{
    struct mt_trace_arguments own = *job->arguments;
    struct mt_analysis *analysis = calloc(1, sizeof *analysis);
    own.path = path;
    if (!job->fault.fault)
        job->arguments->path = path;
    if (!analysis)
        return -ENOMEM;
    int rc = mt_analysis_create(analysis, path, &own.question);
    if (!job->fault.fault)
        job->fault = analysis->fault;
    if (!rc && !mt_has_moment(analysis, &own))
        job->lacks_moment = true;
    if (!rc && !job->lacks_moment)
        return keep(job, analysis);
    drop(analysis);
    return rc;
}

static int print(struct job *job)
{
    struct mt_style style = mt_terminal_style();
    mt_job_sort(job->ranks, job->n);
    mt_job_follow_cards(job->ranks, job->n);
    if (job->spool.file)
        return mt_job_json(job->ranks, job->n, &job->spool, stdout);
    mt_job_text(job->ranks, job->n, job->highest, stdout, &style);
    return 0;
}

static int fail_spool(int rc)
{
    return mt_fail("%s: cannot write a temporary file: %s; set TMPDIR to another folder",
                   mt_manifest_folder(), strerror(-rc));
}

static int report_all(struct job *job)
{
    int code = MT_EXIT_OK, rc = 0;
    for (int i = 0; i < job->arguments->n_paths && !rc; i++)
        rc = analyze(job, job->arguments->paths[i]);
    if (job->spool_error && job->spool_error != -ENOMEM)
        return fail_spool(job->spool_error);
    if (!rc && (job->lacks_moment || !are_one_job(job)))
        code = MT_EXIT_BAD;
    if (!rc && !code)
        rc = print(job);
    if (rc == -EIO && !ferror(stdout))
        return fail_spool(rc);
    return (rc && rc != -EIO) || job->fault.fault
               ? mt_fail_trace(mt_trace_name(job->arguments), &job->fault)
               : code;
}

static int report_job(struct mt_trace_arguments *arguments)
{
    size_t n = (size_t)arguments->n_paths;
    struct job job = {.arguments = arguments, .ranks = calloc(n, sizeof *job.ranks)};
    bool is_json = arguments->format == MT_FORMAT_JSON;
    int code;
    if (is_json) {
        job.spool.at = calloc(n, sizeof *job.spool.at);
        job.spool.file = mt_unnamed_file(mt_manifest_folder());
    }
    if (is_json && !job.spool.file)
        code = fail_spool(-errno);
    else if (!job.ranks || (is_json && !job.spool.at))
        code = mt_fail_memory();
    else
        code = report_all(&job);
    for (size_t i = 0; i < job.n; i++)
        mt_job_rank_clear(&job.ranks[i]);
    if (job.spool.file)
        fclose(job.spool.file);
    free(job.spool.at);
    free(job.ranks);
    drop(job.highest);
    return code;
}

int mt_run_report(const struct mt_command *command, int argc, char **argv)
{
    struct mt_trace_arguments arguments;
    char made[PATH_MAX];
    if (mt_read_trace_arguments(command, argc, argv, MT_SEVERAL_TRACES, &arguments))
        return MT_EXIT_BAD;
    if (!arguments.html && arguments.n_paths == 1)
        return mt_on_trace(&arguments, print_one);
    bool is_damaged = false;
    const struct mt_page_content content = {
        .paths = arguments.paths,
        .n = arguments.n_paths,
        .imported = arguments.found.imported
                        ? arguments.found.imported + (arguments.paths - arguments.found.path)
                        : NULL,
        .is_damaged = &is_damaged};
    int code =
        arguments.html ? mt_save_page(arguments.html, &content, made) : report_job(&arguments);
    mt_trace_arguments_clear(&arguments);
    return is_damaged ? MT_EXIT_BAD : code;
}
