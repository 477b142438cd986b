/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/model/user-line.h"
#include "analyzer/print/page.h"
#include "plan-report.h"

const char *mt_plan_phase(char out[MT_PLAN_PHASE], const struct mt_analysis *analysis, int device,
                          uint64_t event)
{
    const struct mt_device *found = mt_analysis_device(analysis, device);
    const struct mt_spans *spans = found ? found->spans : NULL;
    const struct mt_span *span = spans && event ? mt_spans_until(spans, event) : NULL;
    char where[MT_PLAN_PHASE];
    out[0] = '\0';
    if (!span)
        return out;
    mt_span_text(where, sizeof where, spans, span);
    int used = snprintf(out, MT_PLAN_PHASE, "in %s", where);
    if (span->iteration && used > 0 && (size_t)used < MT_PLAN_PHASE)
        snprintf(out + used, MT_PLAN_PHASE - (size_t)used, " of %u", spans->iterations);
    return out;
}

uint32_t mt_plan_line(const struct mt_analysis *analysis, const struct mt_request_totals *at)
{
    return mt_request_line(analysis->replay.definitions, at->stack, at->forward);
}
