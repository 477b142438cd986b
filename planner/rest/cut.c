/* SPDX-License-Identifier: Apache-2.0 */
#include "cut.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Return the block that failed. It is freed at its own event. */
static struct mt_recorded_block as_block(const struct mt_recording *recording, uint64_t event,
                                         uint64_t end, uint64_t bytes, enum mt_phase phase)
{
    return (struct mt_recorded_block){
        .begin = event,
        .end = end,
        .size = bytes,
        .device = (int16_t)recording->device,
        .was_caught = true,
        .step = phase == MT_PHASE_STEP,
        .phase = (uint8_t)phase,
        .category = phase == MT_PHASE_FORWARD ? MT_CATEGORY_ACTIVATIONS : MT_CATEGORY_TEMPORARIES};
}

static bool is_in_step(const struct mt_recording *recording, uint64_t event)
{
    size_t i = recording->n_steps;
    while (i && recording->step[i - 1].begin > event)
        i--;
    return i && event <= recording->step[i - 1].end;
}

static enum mt_phase failed_phase(const struct mt_recording *recording, uint64_t event)
{
    const struct mt_turn *next = mt_turn_after(recording, event);
    size_t before = next ? (size_t)(next - recording->turn) : recording->n_turns;
    if (is_in_step(recording, event))
        return MT_PHASE_STEP;
    enum mt_phase phase =
        before ? (enum mt_phase)recording->turn[before - 1].phase : MT_PHASE_OUTSIDE;
    return phase == MT_PHASE_STEP ? MT_PHASE_OUTSIDE : phase; /* that one has ended */
}

int mt_failed_add_all(struct mt_recording *recording, const struct mt_requests *requests)
{
    size_t n = recording->n;
    for (size_t i = 0; i < requests->n; i++) {
        uint64_t event = requests->recorded[i].event;
        if (!mt_failed(requests, i) || requests->request[i].kind != MT_REQUEST_ALLOCATE)
            continue;
        struct mt_recorded_block block = as_block(
            recording, event, event + 1, (requests->request[i].size + 511) & ~UINT64_C(511),
            failed_phase(recording, event));
        block.stack = requests->recorded[i].stack;
        if (MT_APPEND(recording->block, recording->capacity, recording->n, block))
            return -ENOMEM;
    }
    if (recording->n > n)
        mt_recording_sort(recording);
    return 0;
}

/* Return whether nothing was allocated after the last failed request, so that the trace lacks what
 * follows. */
static bool is_cut(const struct mt_requests *requests)
{
    size_t last = mt_failed_last(requests);
    for (size_t i = last + 1; last && i < requests->n; i++)
        if (requests->request[i].kind == MT_REQUEST_ALLOCATE)
            return false;
    return last;
}

struct item {
    uint64_t event;
    size_t order;
    struct mt_request request;
};

MT_ORDER(by_event, struct item, MT_RISING(event) ?: MT_RISING(order))

/* Return the program's number of a recorded block; UINT32_MAX: it did not request it. */
static uint32_t number_of(const struct mt_requests *requests, size_t n, uint64_t event)
{
    size_t low = MT_LEADING(i, n, requests->recorded[i].event < event);
    while (low < n && requests->recorded[low].event == event &&
           requests->request[low].kind != MT_REQUEST_ALLOCATE)
        low++;
    return low < n && requests->recorded[low].event == event ? requests->request[low].block
                                                             : UINT32_MAX;
}

static void put(struct item *item, size_t *n, uint64_t event, struct mt_request request)
{
    item[*n] = (struct item){event, *n, request};
    ++*n;
}

/* Return the memory used outside PyTorch after the first n requests. */
static uint64_t others_of(const struct mt_requests *requests, size_t n)
{
    while (n && requests->request[n - 1].kind != MT_REQUEST_OTHERS)
        n--;
    return n ? requests->request[n - 1].size : 0;
}

/* List what follows the cut, in order. */
static size_t list(struct item *item, const struct mt_cut_run *cut,
                   const struct mt_recording *recording, const struct mt_requests *requests,
                   size_t own)
{
    uint32_t next = 0;
    size_t n = 0;
    for (size_t i = 0; i < own; i++)
        if (requests->request[i].kind == MT_REQUEST_ALLOCATE && requests->request[i].block >= next)
            next = requests->request[i].block + 1;
    for (int reach = MT_REACH_REQUEST; reach < MT_N_REACHES; reach++)
        if (cut->rest.ends[reach])
            put(item, &n, cut->rest.ends[reach],
                (struct mt_request){.stream = (uint16_t)reach, .kind = MT_REQUEST_MARK});
    for (size_t i = 0; i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        bool is_new = block->begin > cut->rest.cut, ends = block->end != MT_EVER;
        uint32_t number = is_new ? next++
                          : ends && block->end > cut->rest.cut
                              ? number_of(requests, own, block->begin)
                              : UINT32_MAX;
        if (number == UINT32_MAX)
            continue;
        if (is_new)
            put(item, &n, block->begin,
                (struct mt_request){
                    .size = block->size, .block = number, .kind = MT_REQUEST_ALLOCATE});
        if (ends)
            put(item, &n, block->end,
                (struct mt_request){.block = number, .kind = MT_REQUEST_FREE});
    }
    if (cut->rest.handles.bytes)
        put(item, &n, cut->rest.ends[MT_REACH_FORWARD] ?: cut->rest.ends[MT_REACH_REQUEST],
            (struct mt_request){.size = others_of(requests, own) + cut->rest.handles.bytes,
                                .stream = 1,
                                .kind = MT_REQUEST_OTHERS});
    qsort(item, n, sizeof *item, by_event);
    return n;
}

/* Append what follows, without the failed request's free, which is not the program's. */
static int join(struct mt_cut_run *cut, const struct mt_recording *recording,
                const struct mt_requests *requests)
{
    size_t own = mt_failed_last(requests), more = 2 * recording->n + MT_N_REACHES + 2;
    size_t most = own + more;
    struct item *item = calloc(more, sizeof *item);
    cut->requests = *requests;
    cut->requests.request = calloc(most, sizeof *cut->requests.request);
    cut->requests.recorded = calloc(most, sizeof *cut->requests.recorded);
    if (!item || !cut->requests.request || !cut->requests.recorded) {
        free(item);
        return -ENOMEM;
    }
    memcpy(cut->requests.request, requests->request, own * sizeof *requests->request);
    memcpy(cut->requests.recorded, requests->recorded, own * sizeof *requests->recorded);
    size_t n = list(item, cut, recording, requests, own);
    for (size_t i = 0; i < n; i++) {
        cut->requests.request[own + i] = item[i].request;
        cut->requests.recorded[own + i].event = item[i].event;
    }
    cut->requests.n = own + n;
    free(item);
    return 0;
}

/* Return the phase of an event. A loss computed outside all modules belongs to forward if nothing
 * else came since. */
static enum mt_phase phase_of(const struct mt_recording *recording, uint64_t event)
{
    const struct mt_recorded_block *block = mt_recorded_at(recording, event);
    size_t i = recording->n_turns;
    enum mt_phase own = block ? (enum mt_phase)block->phase : failed_phase(recording, event);
    if (own != MT_PHASE_OUTSIDE)
        return own;
    while (i && (recording->turn[i - 1].event > event ||
                 recording->turn[i - 1].phase == MT_PHASE_OUTSIDE))
        i--;
    bool is_stepped = i && recording->n_steps &&
                      recording->step[recording->n_steps - 1].begin > recording->turn[i - 1].event;
    return i && !is_stepped && recording->turn[i - 1].phase == MT_PHASE_FORWARD ? MT_PHASE_FORWARD
                                                                                : MT_PHASE_OUTSIDE;
}

int mt_cut_extend(struct mt_cut_run *cut, struct mt_recording *recording,
                  const struct mt_requests *requests)
{
    *cut = (struct mt_cut_run){0};
    if (!is_cut(requests))
        return 0;
    uint64_t event = requests->recorded[mt_failed_last(requests) - 1].event;
    int rc = mt_rest_add(&cut->rest, recording, event, phase_of(recording, event));
    if (cut->rest.ends[MT_REACH_BACKWARD])
        cut->rest.handles = mt_handles_of_backward(&requests->handles);
    return rc ? rc : join(cut, recording, requests);
}

void mt_cut_clear(struct mt_cut_run *cut)
{
    free(cut->requests.request);
    free(cut->requests.recorded);
    *cut = (struct mt_cut_run){0};
}
