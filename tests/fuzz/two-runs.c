/* SPDX-License-Identifier: Apache-2.0 */
#include "two-runs.h"
#include "made-trace.h"

#include <stdlib.h>
#include <string.h>

int mt_two_runs_read(struct mt_two_runs *two, const uint8_t *bytes, size_t size)
{
    static struct mt_made_trace trace[2];
    static const char *const paths[] = {"0", "1"};
    size_t half = size / 2;
    struct mt_trace_error error;
    *two = (struct mt_two_runs){0};
    if (mt_made_trace_read(&trace[0], bytes, half) ||
        mt_made_trace_read(&trace[1], bytes + half, size - half))
        return -1;
    two->choices = trace[0].choices;
    for (unsigned i = 0; i < 2; i++) {
        mt_made_traces[i] = &trace[i];
        if (mt_digest_read(&two->run[i], paths[i], NULL, &error))
            abort();
    }
    return 0;
}

void mt_two_runs_clear(struct mt_two_runs *two)
{
    for (unsigned i = 0; i < 2; i++)
        mt_digest_clear(&two->run[i]);
}
