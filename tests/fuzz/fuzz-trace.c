/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz-trace.h"
#include "analyzer/report/blocks.h"
#include "analyzer/report/explain.h"
#include "analyzer/report/oom-report.h"
#include "analyzer/report/report.h"
#include "analyzer/report/stacks.h"
#include "nightly/diff/diff-report.h"
#include "trace-format/encoder.h"
#include "trace-format/tail.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void check_totals(const struct mt_analysis *analysis)
{
    for (size_t i = 0; i < analysis->n_devices; i++) {
        const struct mt_device *device = &analysis->devices[i];
        uint64_t by_category = 0, by_rule = 0, by_site = 0;
        for (unsigned j = 0; j < MT_CATEGORY_COUNT; j++)
            by_category += device->category[j].bytes;
        for (size_t j = 0; j < mt_n_rules; j++)
            by_rule += device->by_rule[j].bytes;
        for (size_t j = 0; j < device->sites.n; j++)
            by_site += device->sites.site[j].bytes;
        if (by_category != by_rule || by_category != by_site)
            abort();
    }
}

static void explain_oom(const struct mt_analysis *analysis, FILE *out)
{
    struct mt_oom_story story;
    struct mt_style style = {0};
    if (!mt_oom_explain(&story, analysis)) {
        mt_oom_text(&story, analysis, out, &style);
        if (mt_oom_json(&story, analysis, out))
            abort();
    }
}

/* With the trace before: two that have little in common. */
static void compare(const struct mt_analysis *analysis, FILE *out)
{
    static struct mt_digest before, now;
    struct mt_diff diff;
    struct mt_style style = {0};
    if (mt_digest_take(&now, "now", analysis))
        abort();
    if (before.path) {
        if (mt_diff_make(&diff, &before, 1, &now, 1) || mt_diff_text(&diff, out, &style) ||
            mt_diff_markdown(&diff, out) || mt_diff_json(&diff, out))
            abort();
        mt_diff_flame(&diff, out);
        mt_diff_clear(&diff);
    }
    mt_digest_clear(&before);
    before = now;
}

static void look(const char *path, size_t size)
{
    static const struct mt_style styles[] = {{0, 0}, {1, 1}};
    static FILE *nowhere;
    struct mt_analysis analysis;
    if (!nowhere)
        nowhere = fopen("/dev/null", "w");
    if (!nowhere)
        abort();
    struct mt_question question = {.moment = {(enum mt_moment_kind)(size % 5), size * 1000},
                                   .address = 20 + size % 9,
                                   .by = (enum mt_group_by)(size % 6),
                                   .whole_run = 1,
                                   .no_labels = size / 5 % 2};
    if (!mt_analysis_create(&analysis, path, &question)) {
        check_totals(&analysis);
        for (size_t i = 0; i < sizeof styles / sizeof *styles; i++)
            mt_report_text(&analysis, nowhere, &styles[i]);
        for (size_t i = 0; i < sizeof styles / sizeof *styles; i++)
            mt_blocks_table(&analysis, nowhere, &styles[i]);
        mt_blocks_csv(&analysis, nowhere);
        explain_oom(&analysis, nowhere);
        compare(&analysis, nowhere);
        mt_explain_address(&analysis, nowhere, &styles[0]);
        for (uint32_t stack = 0; stack < 8; stack++)
            mt_explain_stack(&analysis, stack, nowhere, &styles[1]);
        if (mt_stacks_tree(&analysis, size % 2 ? MT_TOP_DOWN : MT_BOTTOM_UP, nowhere, &styles[0]) ||
            mt_stacks_folded(&analysis, nowhere) || mt_stacks_json(&analysis, nowhere))
            abort();
        if (mt_report_json(&analysis, nowhere) || mt_blocks_json(&analysis, nowhere))
            abort();
    } else if (!*analysis.fault.text) {
        abort(); /* a failure must be explained */
    }
    mt_analysis_destroy(&analysis);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[64];
    int file = memfd_create("trace", MFD_CLOEXEC);
    if (file < 0 || write(file, bytes, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    look(path, size);
    close(file);
    return 0;
}

static char folder[] = "/tmp/memtap-fuzz-XXXXXX", trace[64], tail[80];

static void remove_files(void)
{
    unlink(trace);
    unlink(tail);
    rmdir(folder);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
        abort();
}

void mt_fuzz_tail(const uint8_t *bytes, size_t size)
{
    uint8_t header[MT_FILE_HEADER_SIZE];
    if (!*trace) {
        if (!mkdtemp(folder))
            abort();
        snprintf(trace, sizeof trace, "%s/t.mtap", folder);
        snprintf(tail, sizeof tail, "%s" MT_TAIL_SUFFIX, trace);
        mt_encode_file_header(header, 4711, 0);
        write_file(trace, header, sizeof header);
        atexit(remove_files);
    }
    write_file(tail, bytes, size);
    look(trace, size);
}
