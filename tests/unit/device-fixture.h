/* SPDX-License-Identifier: Apache-2.0 */
/* For Check programs: the fixture of tests that build a trace and look at its main device. */
#ifndef MT_TESTS_DEVICE_FIXTURE_H
#define MT_TESTS_DEVICE_FIXTURE_H

#include "analysis-fixture.h"

/* Fails the test where there is no device. */
static const struct mt_device *analyze(void)
{
    mt_analyze(&analysis, builder, &question);
    const struct mt_device *device = mt_analysis_main_device(&analysis);
    ck_assert_ptr_nonnull(device);
    return device;
}

#endif
