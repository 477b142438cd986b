/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace's requests to PyTorch's allocator, device by device, as the model takes them
 * (allocator/requests.h), with what the trace says the allocator's totals were after each. Gathered
 * while the trace is replayed: mt_gather is what a question's watcher calls.
 *
 * Traces have the requested sizes, streams, private pools and waits of frees since kinds 37 to 40.
 * In older ones, or where they are not known, a request is as large as its block, of one stream,
 * and `unknown` counts it.
 */
#ifndef MT_PLANNER_GATHER_H
#define MT_PLANNER_GATHER_H

#include <stdbool.h>

#include "analyzer/findings/handles.h"
#include "planner/allocator/requests.h"

/* What the trace says after a request. Bytes. */
struct mt_asked_at {
    uint64_t event;     /* its number in the trace, from 1 */
    uint64_t allocated; /* PyTorch's totals; of an alloc and a free only */
    uint64_t reserved;
    uint32_t stack, forward; /* of an allocation: its stack, and in backward that of the forward
                                line; 0: not known */
};

struct mt_asked {
    int device; /* CUDA's index */
    struct mt_request *request;
    struct mt_asked_at *recorded; /* as many */
    size_t n;
    size_t allocs, frees;     /* of these */
    size_t unknown;           /* allocs whose request is not known */
    size_t from_before;       /* frees of what was allocated before the trace began */
    size_t ooms;              /* requests that ran out of memory */
    size_t others_streams;    /* allocs of other streams than the default one */
    size_t waits;             /* frees that waited for other streams */
    size_t private_allocs;    /* allocs of private pools */
    const char *const *confs; /* settings that the program made itself: texts of the definitions */
    size_t n_confs;
    size_t unread_confs;  /* of these texts, those that could not be read, and are not in it */
    uint64_t card;        /* bytes of the card; 0: not known */
    uint64_t most_others; /* the most that was not PyTorch's */
    uint64_t peak_allocated, peak_reserved; /* as recorded */
    struct mt_handles handles;              /* libraries' own, of which OTHERS have the bytes */
    bool knows_others; /* the card was asked, so that what else takes memory of it is known */
};

struct mt_gathering;

/* Create a gathering. NULL: no memory. */
struct mt_gathering *mt_gathering_create(void);
void mt_gathering_destroy(struct mt_gathering *gathering);

/* Gather an event, for struct mt_watcher: data is the gathering. 0 or -ENOMEM. */
int mt_gather(void *gathering, const struct mt_replay *replay, const struct mt_event *event);

/* Return how many allocations of a device's slot, up to now, were of other streams than the default
 * one.
 */
size_t mt_gathering_beside(const struct mt_gathering *gathering, unsigned slot);

/* Finish at the trace's end: return what was asked of each device on which PyTorch allocated, by
 * index; *n of them. They belong to the gathering. NULL where there are none. */
const struct mt_asked *mt_gathering_finish(struct mt_gathering *gathering, size_t *n);

/* Return whether the request at that place failed. */
bool mt_failed(const struct mt_asked *asked, size_t place);

/* Return how many requests came up to the last one that failed, with it; 0: none failed. */
size_t mt_failed_last(const struct mt_asked *asked);

#endif
