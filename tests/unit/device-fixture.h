/* SPDX-License-Identifier: Apache-2.0 */
/* For Check programs: the fixture of tests that build a trace and look at its main device. */
#ifndef MT_TESTS_DEVICE_FIXTURE_H
#define MT_TESTS_DEVICE_FIXTURE_H

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

/* Fails the test where there is no device. */
static const struct mt_device *analyze(void)
{
    mt_analyze(&analysis, builder, &question);
    const struct mt_device *device = mt_analysis_main_device(&analysis);
    ck_assert_ptr_nonnull(device);
    return device;
}

#endif
