/* SPDX-License-Identifier: Apache-2.0 */
#include "page-text.h"
#include "analyzer/report/report.h"
#include "tools/terminal/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void mt_put_page_text(FILE *out, const char *title, const char *text)
{
    char *copy = strdup(text), *rest = copy;
    fputs("<h2>", out);
    mt_put_text(out, title, MT_FOR_XML);
    fputs("</h2>\n<pre>", out);
    for (const char *line; copy && (line = strsep(&rest, "\n"));) {
        mt_put_text(out, line, MT_FOR_XML);
        putc('\n', out);
    }
    fputs("</pre>\n", out);
    free(copy);
}

static int write_report(FILE *out, const char *path, struct mt_trace_error *fault)
{
    const struct mt_style style = {.utf8 = 1};
    const struct mt_question question = {0};
    struct mt_analysis analysis;
    int rc = mt_analysis_create(&analysis, path, &question);
    *fault = analysis.fault;
    if (!rc)
        mt_report_text(&analysis, out, &style);
    if (!rc && fault->fault)
        fprintf(out, "\n%s\n", fault->text);
    mt_analysis_destroy(&analysis);
    return rc;
}

int mt_put_page_report(FILE *out, const char *title, const char *path)
{
    char *text = NULL;
    size_t size;
    struct mt_trace_error fault = {0};
    FILE *memory = open_memstream(&text, &size);
    int rc = memory ? write_report(memory, path, &fault) : -ENOMEM;
    if (memory && fclose(memory) && !rc)
        rc = -ENOMEM;
    if (!rc)
        mt_put_page_text(out, title, text);
    else
        mt_fail_trace(path, &fault);
    free(text);
    return rc;
}
