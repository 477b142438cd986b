/* SPDX-License-Identifier: Apache-2.0 */
/* The cause of an out-of-memory, for people and for programs. */
#ifndef MT_OOM_REPORT_H
#define MT_OOM_REPORT_H

#include <stdio.h>

#include "analyzer/findings/oom.h"
#include "analyzer/support/text.h"

void mt_oom_text(const struct mt_oom_story *story, const struct mt_analysis *analysis, FILE *out,
                 const struct mt_style *style);

/* Print its first lines: what ran out, why, what to do; and an empty line. */
void mt_oom_summary(const struct mt_oom_story *story, const struct mt_analysis *analysis, FILE *out,
                    const struct mt_style *style);

/* Return whether the run grew until nothing was left: what it kept is more than the request, and
 * than what is free, and a good part of all. */
bool mt_oom_is_grown(const struct mt_oom_story *story);

/* Write what ran out and where, and why: each a sentence without its end, with foreign text. */
void mt_oom_sentence(const struct mt_oom_story *story, const struct mt_analysis *analysis,
                     char *out, size_t size);
void mt_oom_cause(const struct mt_oom_story *story, const struct mt_analysis *analysis, char *out,
                  size_t size);

/* Return the pool of CUDA's with the most free memory when the request failed outside of it; NULL:
 * none had any. And write what to do about it. */
const struct mt_cuda_pool *mt_oom_cuda_pool(const struct mt_oom_story *story,
                                            const struct mt_analysis *analysis);
void mt_oom_cuda_pool_text(char *out, size_t size, const struct mt_analysis *analysis,
                           const struct mt_cuda_pool *pool);

/* Write what to do, as the summary has it: "export PYTORCH_ALLOC_CONF=... (replayed: ...)"; "":
 * nothing is known to help. */
void mt_oom_remedy(const struct mt_oom_story *story, char *out, size_t size);

/* Print schema memtap.oom/1 (memtap-oom-json(5)). 0, -ENOMEM, or -EIO. */
int mt_oom_json(const struct mt_oom_story *story, const struct mt_analysis *analysis, FILE *out);

#endif
