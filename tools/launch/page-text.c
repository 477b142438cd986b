/* SPDX-License-Identifier: Apache-2.0 */
#include "page-text.h"
#include "analyzer/report/oom-report.h"
#include "analyzer/report/report.h"
#include "planner/advice/advice.h"
#include "tools/terminal/command.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* run: the label of the trace that ran out of memory; NULL: the text is another. */
static void put_text(FILE *out, const char *title, const char *text, const char *run)
{
    char *copy = strdup(text), *rest = copy;
    fputs("<h2>", out);
    mt_put_text(out, title, MT_FOR_XML);
    fputs("</h2>\n<pre", out);
    if (run) {
        fputs(" data-oom=\"", out);
        mt_put_text(out, run, MT_FOR_XML);
        putc('"', out);
    }
    putc('>', out);
    for (const char *line; copy && (line = strsep(&rest, "\n"));) {
        mt_put_text(out, line, MT_FOR_XML);
        putc('\n', out);
    }
    fputs("</pre>\n", out);
    free(copy);
}

void mt_put_page_text(FILE *out, const char *title, const char *text)
{
    put_text(out, title, text, NULL);
}

/* Write what memtap oom prints. 0 or -ENOMEM. */
static int write_story(FILE *out, const char *path)
{
    static struct mt_advisor advisor;
    const struct mt_style style = {.utf8 = 1};
    struct mt_question question = {.moment.kind = MT_AT_OOM};
    struct mt_analysis analysis;
    struct mt_oom_story story;
    int rc = mt_advisor_watch(&advisor, &question);
    if (rc)
        return rc;
    rc = mt_analysis_create(&analysis, path, &question);
    if (!rc)
        rc = mt_oom_explain(&story, &analysis);
    if (!rc)
        rc = mt_advise(&advisor, &analysis, &story);
    if (!rc)
        mt_oom_text(&story, &analysis, out, &style);
    mt_analysis_destroy(&analysis);
    mt_advisor_clear(&advisor);
    return rc == -ENOMEM ? rc : 0;
}

static int write_report(FILE *out, const char *path, struct mt_trace_error *fault, bool *ran_out)
{
    const struct mt_style style = {.utf8 = 1};
    const struct mt_question question = {0};
    struct mt_analysis analysis;
    int rc = mt_analysis_create(&analysis, path, &question);
    *fault = analysis.fault;
    *ran_out = !rc && analysis.replay.n_ooms;
    if (!rc)
        mt_report_text(&analysis, out, &style);
    if (!rc && fault->fault)
        fprintf(out, "\n%s\n", fault->text);
    mt_analysis_destroy(&analysis);
    return rc;
}

static int put_story(FILE *out, const char *label, const char *path)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    int rc = memory ? write_story(memory, path) : -ENOMEM;
    if (memory && fclose(memory) && !rc)
        rc = -ENOMEM;
    if (!rc && *text)
        put_text(out, "Out of memory", text, label);
    free(text);
    return rc;
}

int mt_put_page_report(FILE *out, const char *title, const char *path)
{
    char *text = NULL;
    size_t size;
    bool ran_out = false;
    struct mt_trace_error fault = {0};
    FILE *memory = open_memstream(&text, &size);
    int rc = memory ? write_report(memory, path, &fault, &ran_out) : -ENOMEM;
    if (memory && fclose(memory) && !rc)
        rc = -ENOMEM;
    if (!rc && ran_out)
        rc = put_story(out, title, path);
    if (!rc)
        mt_put_page_text(out, title, text);
    else
        mt_fail_trace(path, &fault);
    free(text);
    return rc;
}
