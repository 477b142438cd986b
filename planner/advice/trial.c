/* SPDX-License-Identifier: Apache-2.0 */
#include "trial.h"

#include <errno.h>

#define STEP (UINT64_C(2) << 20) /* bytes: CUDA gives memory in pieces of this size */

struct watch {
    const struct mt_trial *trial;
    struct mt_trial_result *result;
    uint64_t others; /* bytes of the card that are not PyTorch's now */
};

static void note(void *context, size_t index, const struct mt_request *request,
                 const struct mt_allocator_state *now, bool out_of_memory)
{
    struct watch *watch = context;
    const struct mt_trial *trial = watch->trial;
    bool is_last = trial->is_cut ? index == trial->failed : index + 1 == trial->n;
    bool had_failed = trial->has_failed ? trial->has_failed[index] : is_last;
    struct mt_trial_result *result = watch->result;
    if (request->kind == MT_REQUEST_OTHERS)
        watch->others = request->size;
    if (result->peak_reserved < now->reserved)
        result->peak_reserved = now->reserved;
    if (result->peak_allocated < now->allocated)
        result->peak_allocated = now->allocated;
    if (result->most_used < now->reserved + watch->others)
        result->most_used = now->reserved + watch->others;
    if (out_of_memory != had_failed)
        result->is_recorded = false;
    if (had_failed && !is_last && !out_of_memory)
        result->diverges = true;
    if (out_of_memory && (is_last || !had_failed))
        result->fits = false;
    if (trial->is_cut && request->kind == MT_REQUEST_MARK && request->stream && result->fits)
        result->reach = (enum mt_reach)request->stream;
}

int mt_trial_run(const struct mt_trial *trial, uint64_t total, struct mt_trial_result *result)
{
    struct mt_allocator_card card = {.total = total, .has_streams = trial->has_streams};
    struct mt_allocator *allocator = mt_allocator_create(&trial->conf, trial->release, &card);
    *result = (struct mt_trial_result){.fits = true, .is_recorded = true};
    if (!allocator)
        return -ENOMEM;
    struct watch watch = {.trial = trial, .result = result};
    int rc = mt_allocator_feed_watched(allocator, trial->request, trial->n, note, &watch);
    mt_allocator_destroy(allocator);
    return rc;
}

int mt_trial_card(const struct mt_trial *trial, uint64_t total, uint64_t *enough)
{
    struct mt_trial_result result;
    uint64_t few = total, most = total * 2;
    int rc = mt_trial_run(trial, most, &result);
    bool is_found = result.fits && !result.diverges;
    *enough = 0;
    if (rc || !result.fits)
        return rc;
    while (!rc && most - few > STEP) {
        uint64_t middle = few + (most - few) / 2;
        rc = mt_trial_run(trial, middle, &result);
        if (result.fits)
            most = middle;
        else
            few = middle;
        is_found |= result.fits && !result.diverges;
    }
    if (!is_found)
        return rc;
    *enough = most;
    /* What it used then is enough, unless the settings are of parts of the card. */
    if (!rc)
        rc = mt_trial_run(trial, most, &result);
    uint64_t used = result.most_used;
    if (!rc && used > total && used < most)
        rc = mt_trial_run(trial, used, &result);
    if (!rc && result.fits && used > total && used < most)
        *enough = used;
    if (!rc)
        rc = mt_trial_run(trial, *enough, &result);
    if (!rc && result.diverges)
        *enough = 0;
    return rc;
}
