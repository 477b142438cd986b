/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of an analysis. One file each: report-text.c for people, report-json.c for programs.
 */
#ifndef MT_REPORT_H
#define MT_REPORT_H

#include "analyzer/findings/analysis.h"
#include "analyzer/print/json.h"
#include "analyzer/support/text.h"
#include "trace-format/reader.h"

#include <stdio.h>

/* Write the page for people, 80 columns wide or as wide as the terminal: how the run ended, the use
 * of its memory in a few sentences, and the details, which mt_report_details writes alone. */
void mt_report_text(const struct mt_analysis *analysis, FILE *out, const struct mt_style *style);
void mt_report_details(const struct mt_analysis *analysis, FILE *out, const struct mt_style *style);

/* Return bytes by category at the moment, as an object; NULL: no memory. */
json_t *mt_categories_json(const struct mt_device *device);
json_t *mt_rules_json(const struct mt_device *device); /* the deciding ones, with their bytes */

/* Make page-locked memory of the host an object; NULL: no memory. */
json_t *mt_json_host(const struct mt_analysis *analysis);

/* Make schema memtap.report/1 (memtap-report-json(5)) as an object; NULL: no memory. */
json_t *mt_report_object(const struct mt_analysis *analysis);

/* Print the object. 0, -ENOMEM, or -EIO. */
int mt_report_json(const struct mt_analysis *analysis, FILE *out);

/* The reasons for a verdict: the evidence on a block, and each rule's result. */

/* Explain the block that question.address points into: the one that was live at the moment, else
 * the last one there. 0, or -ENOENT: there was none. */
int mt_explain_address(const struct mt_analysis *analysis, FILE *out, const struct mt_style *style);

/* Count the blocks of a stack that were live at the moment, and explain the largest. 0, or -ENOENT:
 * none. */
int mt_explain_stack(const struct mt_analysis *analysis, uint32_t stack, FILE *out,
                     const struct mt_style *style);

/* Every live block of an analysis, by address: as a table, or as JSON. */

#define MT_NO_MATCH "No block of these matches what was asked for.\n" /* a filter left none */

void mt_blocks_table(const struct mt_analysis *analysis, FILE *out, const struct mt_style *style);

/* Print schema memtap.blocks/1 (memtap-blocks(1)). 0, -ENOMEM, or -EIO. */
int mt_blocks_json(const struct mt_analysis *analysis, FILE *out);

/*
 * Live memory by whole stacks: as a tree from callers to callees or the other way round, folded for
 * flame graphs, or as JSON.
 */

enum mt_direction { MT_TOP_DOWN, MT_BOTTOM_UP };

/* Print trees without framework frames and without branches of less than a hundredth of all bytes.
 * 0 or -ENOMEM. */
int mt_stacks_tree(const struct mt_analysis *analysis, enum mt_direction direction, FILE *out,
                   const struct mt_style *style);

/* Print "category;outermost frame;...;innermost frame BYTES", a line a stack. 0 or -ENOMEM. */
int mt_stacks_folded(const struct mt_analysis *analysis, FILE *out);

/* Print schema memtap.stacks/1 (memtap-stacks(1)). 0, -ENOMEM, or -EIO. */
int mt_stacks_json(const struct mt_analysis *analysis, FILE *out);

/* One to four sentences: the use of a run's memory, and what was wrong. */

/* Write a sentence a line: an out-of-memory; the largest use of the device with the highest peak
 * and its line; growth from iteration to iteration; free memory in PyTorch's reserved memory, if
 * there is much. Write nothing if no memory was allocated. */
void mt_headline(const struct mt_analysis *analysis, FILE *out);

/* Write the names of a trace's native frames into it, to read it on another machine. */

struct mt_symbolized {
    uint32_t frames; /* native ones in the trace */
    uint32_t before; /* already named by the trace */
    uint32_t named;  /* newly named */
};

/* Copy the trace at path to out, with names from this machine. Return 0, or a negative errno:
 * -EINVAL with *error filled if the trace is invalid, else a read or write error. */
int mt_symbolize(const char *path, FILE *out, struct mt_symbolized *result,
                 struct mt_trace_error *error);

#endif
