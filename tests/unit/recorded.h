/* SPDX-License-Identifier: Apache-2.0 */
/* For Check programs: the recording that modelled changes edit, of a trace that was built in
 * memory. */
#ifndef MT_TESTS_RECORDED_H
#define MT_TESTS_RECORDED_H

#include "analyzed.h"
#include "planner/recording/recording.h"

/* Ends the trace. Fails the test where there is no recording of device 0. */
static inline void mt_record_built(struct mt_recording *recording, struct mt_analysis *analysis,
                                   struct mt_builder *builder)
{
    struct mt_question question = {0};
    mt_build_end(builder);
    mt_recording_watch(recording, &question);
    mt_analyze(analysis, builder, &question);
    ck_assert_int_eq(mt_recording_finish(recording, &analysis->replay, 0), 0);
}

#endif
