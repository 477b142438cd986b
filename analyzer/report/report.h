/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of an analysis: report-text.c as text, report-json.c as JSON.
 */
#ifndef MT_REPORT_H
#define MT_REPORT_H

#include "analyzer/findings/analysis.h"
#include "analyzer/print/json.h"
#include "analyzer/support/text.h"
#include "trace-format/reader.h"

#include <stdio.h>

/* Write the text report, 80 columns wide or as wide as the terminal: how the run ended, its memory
 * use in a few sentences, and the details, which mt_report_details writes separately. */
void mt_report_text(const struct mt_analysis *analysis, FILE *out, const struct mt_style *style);
void mt_report_details(const struct mt_analysis *analysis, FILE *out, const struct mt_style *style);

/* Return an object of bytes by category at the moment; NULL: no memory. */
json_t *mt_categories_json(const struct mt_device *device);
json_t *
mt_rules_json(const struct mt_device *device); /* the rules that applied, with their bytes */

/* Return an object about page-locked host memory; NULL: no memory. */
json_t *mt_json_host(const struct mt_analysis *analysis);

/* Return a report of schema memtap.report/1 (memtap-report-json(5)); NULL: no memory. */
json_t *mt_report_object(const struct mt_analysis *analysis);

/* Print the object. Return 0, -ENOMEM, or -EIO. */
int mt_report_json(const struct mt_analysis *analysis, FILE *out);

/* The reasons for a verdict: the evidence on a block, and each rule's result. */

/* Explain the block at question.address: the one live at the moment, else the last one there.
 * Return 0, or -ENOENT if there was none. */
int mt_explain_address(const struct mt_analysis *analysis, FILE *out, const struct mt_style *style);

/* Count the blocks of a stack that were live at the moment, and explain the largest. Return 0, or
 * -ENOENT if there are none. */
int mt_explain_stack(const struct mt_analysis *analysis, uint32_t stack, FILE *out,
                     const struct mt_style *style);

/* Every live block of an analysis, by address: as a table, or as JSON. */

#define MT_NO_MATCH "No matching blocks.\n" /* a filter left none */

void mt_blocks_table(const struct mt_analysis *analysis, FILE *out, const struct mt_style *style);

/* Print schema memtap.blocks/1 (memtap-blocks(1)). Return 0, -ENOMEM, or -EIO. */
int mt_blocks_json(const struct mt_analysis *analysis, FILE *out);

/*
 * Live memory by whole stacks: as a tree from callers to callees or the other way round, folded for
 * flame graphs, or as JSON.
 */

enum mt_direction { MT_TOP_DOWN, MT_BOTTOM_UP };

/* Print trees without framework frames and without branches of less than a hundredth of all bytes.
 * Return 0 or -ENOMEM. */
int mt_stacks_tree(const struct mt_analysis *analysis, enum mt_direction direction, FILE *out,
                   const struct mt_style *style);

/* Print a line "category;outermost frame;...;innermost frame BYTES" for each stack. Return 0 or
 * -ENOMEM. */
int mt_stacks_folded(const struct mt_analysis *analysis, FILE *out);

/* Print schema memtap.stacks/1 (memtap-stacks(1)). Return 0, -ENOMEM, or -EIO. */
int mt_stacks_json(const struct mt_analysis *analysis, FILE *out);

/* The headline: one to four sentences about a run's memory use and problems. */

/* Write one sentence per line: an out-of-memory error; the largest use on the device with the
 * highest peak and its line; growth per iteration; much free memory in PyTorch's reserved memory.
 * Write nothing if no memory was allocated. */
void mt_headline(const struct mt_analysis *analysis, FILE *out);

/* Say what CUDA's memory pools kept while something else needed memory, if it is a tenth of the
 * peak or more. */
void mt_say_cuda_pools(const struct mt_analysis *analysis, const struct mt_device *device,
                       FILE *out);

struct mt_remark; /* analyzer/remarks/remark.h */

/* Write "2.00 GiB of weight copies (...), from train.py:5 main" of any remark but one of kind NONE
 * or CONTEXT. */
#define MT_REMARK_TEXT 900u
void mt_remark_text(char *out, size_t size, const struct mt_definitions *definitions,
                    const struct mt_remark *remark);

/* Write "64 allocations by decode.c:27 take, 4.00 MiB to 35.50 MiB, each larger than the one
 * before". */
void mt_rising_text(char *out, size_t size, const struct mt_definitions *definitions,
                    const struct mt_rising *rising);

/* Write the names of a trace's native frames into it, to read it on another machine. */

struct mt_symbolized {
    uint32_t frames; /* native ones in the trace */
    uint32_t before; /* already named by the trace */
    uint32_t named;  /* newly named */
};

/* Copy the trace at path to out, with names from this machine. Return 0, -EINVAL with *error filled
 * if the trace is invalid, or another negative errno for a read or write error. */
int mt_symbolize(const char *path, FILE *out, struct mt_symbolized *result,
                 struct mt_trace_error *error);

#endif
