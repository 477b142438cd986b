/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of an analysis. One file each: report-text.c for people, report-json.c for programs.
 */
#ifndef MT_REPORT_H
#define MT_REPORT_H

#include "analyzer/findings/analysis.h"
#include "analyzer/print/json.h"
#include "analyzer/support/text.h"

/* Write the page for people, 80 columns wide or as wide as the terminal: how the run ended, the use
 * of its memory in a few sentences, and the details, which mt_report_details writes alone. */
void mt_report_text(const struct mt_analysis *analysis, FILE *out, const struct mt_style *style);
void mt_report_details(const struct mt_analysis *analysis, FILE *out, const struct mt_style *style);

/* Return bytes by category at the moment, as an object; NULL: no memory. */
json_t *mt_categories_json(const struct mt_device *device);
json_t *mt_rules_json(const struct mt_device *device); /* the deciding ones, with their bytes */

/* Page-locked memory of the host as an object; NULL: no memory. */
json_t *mt_json_host(const struct mt_analysis *analysis);

/* Schema memtap.report/1 (memtap-report(1)) as an object; NULL: no memory. */
json_t *mt_report_object(const struct mt_analysis *analysis);

/* The same, written. 0, -ENOMEM, or -EIO. */
int mt_report_json(const struct mt_analysis *analysis, FILE *out);

#endif
