/* SPDX-License-Identifier: Apache-2.0 */
/* JUnit XML: a test suite per trace, a test case per limit. */
#include "analyzer/support/text.h"
#include "check-formats.h"
#include "check-words.h"

#include <string.h>

static void put_attribute(const char *name, const char *text, FILE *out)
{
    fprintf(out, " %s=\"", name);
    mt_put_text(out, text, MT_FOR_XML);
    putc('"', out);
}

static void put_failure(const struct mt_finding *finding, FILE *out)
{
    char text[MT_FINDING_TEXT];
    fputs("      <failure type=\"memory\"", out);
    put_attribute("message", mt_finding_text(text, finding), out);
    fputs(">", out);
    if (finding->blame.site) {
        for (const char *at = finding->blame.site->stack; *at;) {
            size_t n = strcspn(at, ";");
            char frame[MT_LINE];
            snprintf(frame, sizeof frame, "%.*s", (int)n, at);
            mt_put_text(out, frame, MT_FOR_XML);
            putc('\n', out);
            at += n + (at[n] == ';');
        }
    }
    fputs("next: ", out);
    mt_put_text(out, mt_finding_next(text, finding), MT_FOR_XML);
    fputs("</failure>\n", out);
}

static void put_skipped(const struct mt_finding *finding, FILE *out)
{
    char text[MT_FINDING_TEXT];
    fputs("      <skipped", out);
    put_attribute("message", mt_finding_text(text, finding), out);
    fputs("/>\n", out);
}

static void put_case(const struct mt_finding *finding, FILE *out)
{
    char name[MT_FINDING_TEXT];
    snprintf(name, sizeof name, "%s", finding->name);
    if (finding->run->n_devices > 1 && mt_finding_has_amount(finding))
        snprintf(name, sizeof name, "device %d: %s", finding->device->device, finding->name);
    fputs("    <testcase", out);
    put_attribute("classname", finding->run->path, out);
    put_attribute("name", name, out);
    if (!finding->is_broken && !finding->is_unknown) {
        fputs("/>\n", out);
        return;
    }
    fputs(">\n", out);
    if (finding->is_broken)
        put_failure(finding, out);
    else
        put_skipped(finding, out);
    fputs("    </testcase>\n", out);
}

/* Write the findings of one run, which are adjacent. Return the index of the next run's first. */
static size_t put_suite(const struct mt_check *check, size_t begin, FILE *out)
{
    const struct mt_digest *run = check->finding[begin].run;
    size_t end = begin, broken = 0, unknown = 0;
    for (; end < check->n && check->finding[end].run == run; end++) {
        broken += (size_t)check->finding[end].is_broken;
        unknown += (size_t)check->finding[end].is_unknown;
    }
    fputs("  <testsuite", out);
    put_attribute("name", run->path, out);
    fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n", end - begin,
            broken, unknown);
    for (size_t i = begin; i < end; i++)
        put_case(&check->finding[i], out);
    fputs("  </testsuite>\n", out);
    return end;
}

int mt_check_junit(const struct mt_check *check, FILE *out)
{
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuites name=\"memtap check\" tests=\"%zu\" failures=\"%zu\" errors=\"0\">\n",
            check->n, check->broken);
    for (size_t i = 0; i < check->n;)
        i = put_suite(check, i, out);
    fputs("</testsuites>\n", out);
    return 0;
}
