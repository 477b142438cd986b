/* SPDX-License-Identifier: Apache-2.0 */
/* Several processes of one job, for people and for programs. */
#ifndef MT_JOB_REPORT_H
#define MT_JOB_REPORT_H

#include <stdio.h>

#include "analyzer/findings/job.h"
#include "analyzer/support/text.h"

/* Write a line for each process, then the whole page of the one with the highest peak. */
void mt_job_text(const struct mt_analysis *analyses, size_t n, FILE *out,
                 const struct mt_style *style);

/* Schema memtap.job/1 (memtap-report(1)). 0, -ENOMEM, or -EIO. */
int mt_job_json(const struct mt_analysis *analyses, size_t n, FILE *out);

#endif
