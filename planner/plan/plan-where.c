/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/model/user-line.h"
#include "plan-report.h"

const char *mt_plan_phase(char out[MT_PLAN_PHASE], const struct mt_analysis *analysis, int device,
                          uint64_t event)
{
    const struct mt_device *found = mt_analysis_device(analysis, device);
    const struct mt_spans *spans = found ? found->spans : NULL;
    const struct mt_span *span = spans && event ? mt_spans_until(spans, event) : NULL;
    out[0] = '\0';
    if (!span)
        return out;
    if (mt_span_is_beside(spans, span))
        snprintf(out, MT_PLAN_PHASE, "in the evaluation after iteration %u", span->iteration);
    else if (span->iteration)
        snprintf(out, MT_PLAN_PHASE, "in the %s of iteration %u of %u",
                 mt_phase_names[span->phase].label, span->iteration, spans->iterations);
    else
        snprintf(out, MT_PLAN_PHASE, "in %s", mt_phase_names[span->phase].label);
    return out;
}

uint32_t mt_plan_line(const struct mt_analysis *analysis, const struct mt_asked_at *at)
{
    return mt_request_line(analysis->replay.definitions, at->stack, at->forward);
}
