/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace's requests to PyTorch's allocator, device by device, as the model reads them
 * (allocator/requests.h), with the allocator's recorded totals after each. They are gathered during
 * a replay, whose watcher calls mt_gather.
 *
 * * * Traces contain requested sizes, streams, private pools and waits of frees since event kinds
 * 37 to 40. Without them, a request has its block's size and the default stream, and `unknown`
 * counts it.
 */
#ifndef MT_PLANNER_GATHER_H
#define MT_PLANNER_GATHER_H

#include <stdbool.h>

#include "analyzer/findings/handles.h"
#include "planner/allocator/model.h"
#include "planner/allocator/requests.h"

/* The trace's totals after a request, in bytes. */
struct mt_request_totals {
    uint64_t event;     /* its number in the trace, from 1 */
    uint64_t allocated; /* PyTorch's totals, for allocations and frees only */
    uint64_t reserved;
    uint32_t stack,
        forward; /* an allocation's stack, and in backward that of the forward line; 0: unknown */
};

struct mt_requests {
    int device; /* CUDA's index */
    struct mt_request *request;
    struct mt_request_totals *recorded; /* as many */
    size_t n;
    size_t allocs, frees;       /* of these */
    size_t unknown;             /* allocations whose request is unknown */
    size_t from_before;         /* frees of blocks allocated before the trace began */
    struct mt_held_piece *held; /* what PyTorch's allocator had then; NULL: unknown, or nothing */
    size_t n_held;
    bool is_late; /* the recording began in a run: the first allocations are from before it */
    size_t ooms;  /* requests that ran out of memory */
    size_t others_streams;    /* allocations on other streams than the default one */
    size_t waits;             /* frees that waited for other streams */
    size_t private_allocs;    /* allocations in private pools */
    const char *const *confs; /* settings made by the program, as texts of the definitions */
    size_t n_confs;
    size_t unread_confs;                    /* texts that could not be parsed and are left out */
    uint64_t card;                          /* the card's bytes; 0: unknown */
    uint64_t most_others;                   /* peak use outside PyTorch */
    uint64_t peak_allocated, peak_reserved; /* as recorded */
    struct mt_handles handles; /* libraries' own requests, whose bytes OTHERS include */
    bool knows_others;         /* the card was sampled, so its other users are known */
};

struct mt_gathering;

/* Create a gathering. NULL: no memory. */
struct mt_gathering *mt_gathering_create(void);
void mt_gathering_destroy(struct mt_gathering *gathering);

/* Gather an event, for struct mt_watcher: data is the gathering. 0 or -ENOMEM. */
int mt_gather(void *gathering, const struct mt_replay *replay, const struct mt_event *event);

/* Return how many allocations on a device so far were on other streams than the default one. */
size_t mt_gathering_beside(const struct mt_gathering *gathering, unsigned slot);

/* Finish at the end of the trace. Return the requests of the *n devices on which PyTorch allocated,
 * by index, owned by the gathering; NULL: none. */
const struct mt_requests *mt_gathering_finish(struct mt_gathering *gathering, size_t *n);

/* Return whether the request at that place failed: PyTorch's, or a library's own to CUDA (OTHERS).
 */
bool mt_failed(const struct mt_requests *requests, size_t place);

/* Return how many requests came up to the last one that failed, with it; 0: none failed. */
size_t mt_failed_last(const struct mt_requests *requests);

#endif
