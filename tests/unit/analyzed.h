/* SPDX-License-Identifier: Apache-2.0 */
/* For Check programs: the analysis of a trace that was built in memory. */
#ifndef MT_TESTS_ANALYZED_H
#define MT_TESTS_ANALYZED_H

#include "analyzer/findings/analysis.h"
#include "trace-builder.h"

#include <check.h>
#include <stdio.h>
#include <unistd.h>

/* Fails the test where there is none. Each test runs in a process of its own. */
static inline void mt_analyze(struct mt_analysis *analysis, struct mt_builder *builder,
                              const struct mt_question *question)
{
    char path[64];
    snprintf(path, sizeof path, "test-%d.mtap", (int)getpid());
    mt_builder_write(builder, path);
    int rc = mt_analysis_create(analysis, path, question);
    unlink(path);
    ck_assert_msg(rc == 0, "%s", analysis->fault.text);
}

#endif
