/* SPDX-License-Identifier: Apache-2.0 */
/* For Check programs: the fixture of tests that build a trace and analyze it. */
#ifndef MT_TESTS_ANALYSIS_FIXTURE_H
#define MT_TESTS_ANALYSIS_FIXTURE_H

#include "analyzed.h"

static struct mt_builder *builder;
static struct mt_analysis analysis;
static struct mt_question question; /* the peak, unless a test asks otherwise */

static void begin(void)
{
    builder = mt_builder_create();
}

static void end(void)
{
    mt_analysis_destroy(&analysis);
    mt_builder_destroy(builder);
}

#endif
