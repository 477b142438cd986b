/* SPDX-License-Identifier: Apache-2.0 */
/* A compact copy of a trace: made of any, and sound where the trace is. */
#include "analyzer/compact/compact.h"
#include "made-trace.h"
#include "outputs.h"
#include "target.h"
#include "trace-format/encoder.h"

#include <stdlib.h>

/* Compressed as well as possible, an input would take ten milliseconds (linked with --wrap). */
struct mt_encoder *__real_mt_encoder_create(int level);
struct mt_encoder *__wrap_mt_encoder_create(int level);

struct mt_encoder *__wrap_mt_encoder_create(int level)
{
    (void)level;
    return __real_mt_encoder_create(1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct mt_made_trace trace;
    struct mt_keep_plan plan;
    struct mt_trace_error error = {0};
    if (mt_made_trace_read(&trace, bytes, size))
        return 0;
    mt_made_traces[0] = &trace;
    int rc = mt_keep_plan_make(&plan, "0", &error);
    if (rc && (!error.fault || !*error.text))
        abort();
    if (!rc && !plan.is_compact && mt_compact("0", &plan, mt_any_output(), &error))
        abort();
    mt_keep_plan_clear(&plan);
    return 0;
}
