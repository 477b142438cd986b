/* SPDX-License-Identifier: Apache-2.0 */
#include "page-text.h"
#include "analyzer/report/oom-report.h"
#include "analyzer/report/report.h"
#include "analyzer/trace/source-line.h"
#include "planner/advice/advice.h"
#include "tools/terminal/command.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Each line is read from its file anew. */
#define SOURCE_LINES_MAX 2000u

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

static void put_source(FILE *out, const struct mt_definitions *definitions, uint32_t stack)
{
    const struct mt_frame *frame = mt_stack_frame(definitions, stack);
    char text[512];
    if (!mt_source_line(text, sizeof text, definitions, stack))
        return;
    fputs("<li data-file=\"", out);
    mt_put_text(out, frame->file, MT_FOR_XML);
    fprintf(out, "\" data-line=\"%u\">", frame->line);
    mt_put_text(out, text, MT_FOR_XML);
    fputs("</li>\n", out);
}

/* Write the source of every line that stands for a stack. */
static int write_sources(FILE *out, const struct mt_definitions *definitions)
{
    uint32_t limit = mt_definitions_stack_limit(definitions), n = 0;
    bool *is_put = calloc(mt_definitions_frame_limit(definitions) + 1, sizeof *is_put);
    for (uint32_t stack = 1; stack < limit && n < SOURCE_LINES_MAX && is_put; stack++) {
        uint32_t frame = mt_stack(definitions, stack)->frame;
        if (mt_stack_line(definitions, stack) != stack || is_put[frame])
            continue;
        is_put[frame] = true;
        put_source(out, definitions, stack);
        n++;
    }
    free(is_put);
    return is_put ? 0 : -ENOMEM;
}

/* Write a run's source lines; none if they are those of the run before. */
static int put_sources(FILE *out, const char *run, const struct mt_definitions *definitions,
                       char **last)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    int rc = memory ? write_sources(memory, definitions) : -ENOMEM;
    if (memory && fclose(memory) && !rc)
        rc = -ENOMEM;
    if (rc || !*text) {
        free(text);
        return rc;
    }
    fputs("<ul hidden data-run=\"", out);
    mt_put_text(out, run, MT_FOR_XML);
    fprintf(out, "\">\n%s</ul>\n", *last && !strcmp(text, *last) ? "" : text);
    free(*last);
    *last = text;
    return 0;
}

/* A run in a page. */
struct shown {
    const char *label, *path;
    struct mt_trace_error fault;
    bool ran_out;
};

/* Write the report into `out`, and the run's source lines into the page. */
static int write_report(FILE *out, FILE *page, struct shown *run, char **sources)
{
    const struct mt_style style = {.utf8 = 1};
    const struct mt_question question = {0};
    struct mt_analysis analysis;
    int rc = mt_analysis_create(&analysis, run->path, &question);
    run->fault = analysis.fault;
    run->ran_out = !rc && analysis.replay.n_ooms;
    if (!rc)
        mt_report_text(&analysis, out, &style);
    if (!rc && run->fault.fault)
        fprintf(out, "\n%s\n", run->fault.text);
    if (!rc)
        rc = put_sources(page, run->label, analysis.replay.definitions, sources);
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

int mt_put_page_report(FILE *out, const char *title, const char *path, char **sources)
{
    char *text = NULL;
    size_t size;
    struct shown run = {.label = title, .path = path};
    FILE *memory = open_memstream(&text, &size);
    int rc = memory ? write_report(memory, out, &run, sources) : -ENOMEM;
    if (memory && fclose(memory) && !rc)
        rc = -ENOMEM;
    if (!rc && run.ran_out)
        rc = put_story(out, title, path);
    if (!rc)
        mt_put_page_text(out, title, text);
    else
        mt_fail_trace(path, &run.fault);
    free(text);
    return rc;
}
