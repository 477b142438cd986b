/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of a job's processes, as text and as JSON. */
#ifndef MT_JOB_REPORT_H
#define MT_JOB_REPORT_H

#include <stdio.h>

#include "analyzer/findings/job.h"
#include "analyzer/support/text.h"

/* Write a line for each of n > 0 ranks (sorted), then the full report of the one with the highest
 * peak. */
void mt_job_text(const struct mt_job_rank *ranks, size_t n, const struct mt_analysis *highest,
                 FILE *out, const struct mt_style *style);

/* Schema memtap.job/1 (memtap-report-json(5)), one rank at a time: reports go to a spool file while
 * ranks are analyzed, and then to the output in order, after the comparison. `at` has room for each
 * rank's offset in the spool, indexed by `given`. */
struct mt_job_spool {
    FILE *file;
    struct mt_job_piece {
        uint64_t begin, size;
    } *at;
};

/* Write a rank's report into the spool. 0, -ENOMEM, or another negative errno if the spool cannot
 * be written. */
int mt_job_spool_add(struct mt_job_spool *spool, const struct mt_job_rank *rank,
                     const struct mt_analysis *analysis);

/* Write n > 0 ranks (sorted), whose reports are all in the spool. 0, -ENOMEM, or -EIO. */
int mt_job_json(const struct mt_job_rank *ranks, size_t n, const struct mt_job_spool *spool,
                FILE *out);

#endif
