/* SPDX-License-Identifier: Apache-2.0 */
/* Turn edited lifetimes into requests, keeping all recorded requests that are not about a block. */
#include "analyzer/support/search.h"
#include "trial.h"

#include <errno.h>
#include <stdlib.h>

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
