/* SPDX-License-Identifier: Apache-2.0 */
/* A trace through the replay and, by a choice in the input, one of the reports. */
#include "analyzer/report/held-report.h"
#include "analyzer/report/job-report.h"
#include "analyzer/report/oom-report.h"
#include "analyzer/report/report.h"
#include "made-trace.h"
#include "outputs.h"
#include "target.h"

#include <stdlib.h>

static void check_totals(const struct mt_analysis *analysis)
{
    for (size_t i = 0; i < analysis->n_devices; i++) {
        const struct mt_device *device = &analysis->devices[i];
        uint64_t by_category = 0, by_rule = 0, by_site = 0;
        for (unsigned j = 0; j < mt_n_categories; j++)
            by_category += device->category[j].bytes;
        for (size_t j = 0; j < mt_n_rules; j++)
            by_rule += device->by_rule[j].bytes;
        for (size_t j = 0; j < device->sites.n; j++)
            by_site += device->sites.site[j].bytes;
        if (by_category != by_rule || by_category != by_site)
            abort();
    }
}

static int explain_oom(const struct mt_analysis *analysis)
{
    struct mt_oom_story story;
    if (mt_oom_explain(&story, analysis))
        return 0;
    mt_oom_text(&story, analysis, mt_safe_output(), &mt_plain_style);
    return mt_oom_json(&story, analysis, mt_safe_output());
}

static int report_job(const struct mt_analysis *analysis)
{
    static FILE *file;
    struct mt_job_piece piece;
    struct mt_job_rank rank;
    FILE *out = mt_safe_output();
    if (!file && !(file = tmpfile()))
        abort();
    rewind(file);
    struct mt_job_spool spool = {file, &piece};
    int rc = mt_job_rank_take(&rank, analysis, 0);
    if (!rc)
        rc = mt_job_spool_add(&spool, &rank, analysis);
    if (!rc) {
        mt_job_text(&rank, 1, analysis, out, &mt_plain_style);
        rc = mt_job_json(&rank, 1, &spool, out);
    }
    mt_job_rank_clear(&rank);
    return rc;
}

/* Print the tree, and all blocks of a line and of an address. */
static int print_holders(const struct mt_analysis *analysis)
{
    const struct mt_held_choice choices[] = {{0},
                                             {.address = analysis->replay.question.address + 1},
                                             {.file = "train.py", .file_size = 8, .line = 7}};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (mt_holders_text(analysis, &choices[i], mt_safe_output(), &mt_plain_style) == -ENOMEM)
            return -ENOMEM;
    return 0;
}

static int report(const struct mt_analysis *analysis, unsigned choice)
{
    FILE *out = mt_safe_output();
    switch (choice % 14) {
    case 0:
        mt_report_text(analysis, out, &mt_plain_style);
        return 0;
    case 1:
        mt_report_text(analysis, mt_any_output(), &mt_coloured_style);
        return 0;
    case 2:
        return mt_report_json(analysis, out);
    case 3:
        mt_blocks_table(analysis, out, &mt_plain_style);
        return 0;
    case 4:
        return mt_blocks_json(analysis, out);
    case 5:
        mt_explain_address(analysis, out, &mt_plain_style);
        for (uint32_t stack = 0; stack < 8; stack++)
            mt_explain_stack(analysis, stack, out, &mt_plain_style);
        return 0;
    case 6:
        return mt_stacks_tree(analysis, MT_TOP_DOWN, out, &mt_plain_style);
    case 7:
        return mt_stacks_tree(analysis, MT_BOTTOM_UP, mt_any_output(), &mt_coloured_style);
    case 8:
        return mt_stacks_folded(analysis, out);
    case 9:
        return mt_stacks_json(analysis, out);
    case 10:
        return print_holders(analysis);
    case 11:
        return mt_holders_json(analysis, &(struct mt_held_choice){0}, out);
    case 12:
        return explain_oom(analysis);
    default:
        return report_job(analysis);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct mt_made_trace trace;
    struct mt_analysis analysis;
    if (mt_made_trace_read(&trace, bytes, size))
        return 0;
    mt_made_traces[0] = &trace;
    const uint8_t *choices = trace.choices;
    unsigned value = choices[2] | (unsigned)choices[3] << 8;
    struct mt_question question = {
        .moment = {(enum mt_moment_kind)(choices[1] % (MT_AT_HOLDERS + 1)), mt_made_number(value)},
        .address = choices[2],
        .by = (enum mt_property)(choices[4] % MT_PROPERTIES_N),
        .one_device = choices[4] > 250,
        .whole_run = choices[4] >> 6 & 1,
        .no_labels = choices[4] >> 5 & 1};
    int rc = mt_analysis_create(&analysis, "0", &question);
    if (rc && !*analysis.fault.text)
        abort(); /* a failure must be explained */
    if (!rc) {
        check_totals(&analysis);
        if (report(&analysis, choices[0]))
            abort();
    }
    mt_analysis_destroy(&analysis);
    return 0;
}
