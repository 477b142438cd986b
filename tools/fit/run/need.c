/* SPDX-License-Identifier: Apache-2.0 */
#include "need.h"
#include "planner/advice/trial.h"
#include "request-log.h"

#include <stdlib.h>

#define MOST_REQUESTS 2000000u /* of a longer run a replay takes too long for a guess */
#define PIECE ((uint64_t)2 << 20)

uint64_t mt_run_need(const struct mt_asked *asked, const struct mt_definitions *definitions,
                     uint64_t low, uint64_t high)
{
    struct mt_trial trial = {.request = asked->request, .n = asked->n};
    struct mt_trial_result result = {0};
    if (asked->n > MOST_REQUESTS || asked->ooms ||
        !mt_request_log_settings(asked, definitions, &trial.conf, &trial.release))
        return 0;
    bool *has_failed = calloc(asked->n, sizeof *has_failed);
    trial.has_failed = has_failed;
    if (!has_failed || mt_trial_run(&trial, high, &result) || !result.fits)
        high = 0;
    while (high && high - low > PIECE) {
        uint64_t middle = low + (high - low) / 2;
        if (mt_trial_run(&trial, middle, &result))
            high = 0;
        else if (result.fits)
            high = middle;
        else
            low = middle;
    }
    free(has_failed);
    return high;
}
