/* SPDX-License-Identifier: Apache-2.0 */
#include "trial.h"
#include "analyzer/support/search.h"

#include <errno.h>
#include <stdlib.h>

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

/* A request of edited lifetimes. */
struct item {
    uint64_t moment;
    size_t order; /* order of items of one moment */
    struct mt_request request;
};

MT_ORDER(by_moment, struct item, MT_RISING(moment) ?: MT_RISING(order))

/* Return the recorded allocation of an event; NULL: none. Call it in the order of events. */
static const struct mt_request *request_at(const struct mt_requests *requests, size_t *at,
                                           uint64_t event)
{
    while (*at < requests->n && (requests->recorded[*at].event < event ||
                                 (requests->recorded[*at].event == event &&
                                  requests->request[*at].kind != MT_REQUEST_ALLOCATE)))
        ++*at;
    return *at < requests->n && requests->recorded[*at].event == event ? &requests->request[*at]
                                                                       : NULL;
}

static bool is_of_block(const struct mt_request *request)
{
    return request->kind == MT_REQUEST_ALLOCATE || request->kind == MT_REQUEST_FREE ||
           request->kind == MT_REQUEST_RECORD_STREAM || request->kind == MT_REQUEST_COMPLETE;
}

/* Return whether a request empties the cache after a search that is no longer made. Call it in the
 * order of events. */
static bool is_after_search(const struct mt_edits *edits, size_t *at,
                            const struct mt_request *request, uint64_t event)
{
    const struct mt_recorded_block *block = edits->recording->block;
    while (*at < edits->recording->n && (block[*at].search < event || edits->block[*at].size))
        ++*at;
    return *at < edits->recording->n && request->kind == MT_REQUEST_EMPTY_CACHE &&
           block[*at].end < event;
}

static void add(struct item *item, size_t *n, uint64_t moment, struct mt_request request)
{
    item[*n] = (struct item){moment, *n, request};
    ++*n;
}

static struct mt_request other(const struct mt_edits *edits, const struct mt_request *request)
{
    struct mt_request edited = *request;
    edited.size += request->kind == MT_REQUEST_OTHERS ? edits->others : 0;
    return edited;
}

static void add_blocks(struct item *item, size_t *n, const struct mt_requests *requests,
                       const struct mt_edits *edits, uint64_t last)
{
    const struct mt_recording *recording = edits->recording;
    size_t at = 0;
    for (size_t i = 0; i < edits->n; i++) {
        const struct mt_edit *block = &edits->block[i];
        const struct mt_recorded_block *was = i < recording->n ? &recording->block[i] : NULL;
        const struct mt_request *request = was ? request_at(requests, &at, was->begin) : NULL;
        if (!block->size || block->begin >= block->end || block->begin > last)
            continue;
        struct mt_request edited = {
            .size = block->size, .block = (uint32_t)i, .kind = MT_REQUEST_ALLOCATE};
        if (request) {
            edited.stream = request->stream;
            edited.pool = request->pool;
            if (block->size == was->size)
                edited.size = request->size;
        }
        add(item, n, block->begin, edited);
        if (block->end <= last)
            add(item, n, block->end,
                (struct mt_request){.block = (uint32_t)i, .kind = MT_REQUEST_FREE});
    }
}

/* Sort the requests. The failed request comes last in its moment. */
int mt_trial_edited(const struct mt_requests *requests, const struct mt_edits *edits,
                    uint64_t event, struct mt_request **request, size_t *n)
{
    uint64_t last = mt_moment_of(event);
    struct item *item = calloc(edits->n * 2 + requests->n + 1, sizeof *item);
    size_t search = 0;
    *n = 0;
    *request = NULL;
    if (!item)
        return -ENOMEM;
    for (size_t i = 0; i < requests->n && requests->recorded[i].event <= event; i++)
        if (!is_of_block(&requests->request[i]) &&
            !is_after_search(edits, &search, &requests->request[i], requests->recorded[i].event))
            add(item, n, mt_moment_of(requests->recorded[i].event),
                other(edits, &requests->request[i]));
    add_blocks(item, n, requests, edits, last);
    qsort(item, *n, sizeof *item, by_moment);
    *request = calloc(*n + 1, sizeof **request);
    for (size_t i = 0; *request && i < *n; i++)
        (*request)[i] = item[i].request;
    free(item);
    return *request ? 0 : -ENOMEM;
}
