/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Page-locked memory of the host (cudaHostAlloc, PyTorch's pin_memory and similar): the live
 * blocks, and the highest total.
 */
#ifndef MT_HOST_H
#define MT_HOST_H

#include <stdbool.h>

#include "analyzer/trace/definitions.h"
#include "heap.h"
#include "sums.h"

struct mt_host {
    struct mt_heap heap; /* all of it on slot 0 */
    uint64_t most, most_ns, most_event;
    struct mt_event freed; /* the last one, as an allocation event: a free may have failed */
    uint64_t freed_requested;
    uint64_t *requested; /* by the heap's record: bytes that PyTorch requested; 0: not known */
    size_t n_requested;
    bool has_moment; /* another moment than its highest is remembered */
};

/* Clear it; one of zeros is empty. */
void mt_host_clear(struct mt_host *host);

/* Handle an event of any kind, number `number` of the trace. 0 or -ENOMEM. */
int mt_host_event(struct mt_host *host, const struct mt_event *event, uint64_t number);

/* Take now as the moment. Without a call it is the highest. */
void mt_host_take(struct mt_host *host);

/* What PyTorch's allocator of page-locked memory has rounded up, of the blocks at the moment. A
 * block that serves a later request, too, counts with that for which it was allocated. */
struct mt_host_rounding {
    uint64_t known, requested; /* bytes of blocks whose request is known; of these requests */
    /* Others whose size is a power of two: more than half of each was requested, if by PyTorch. The
     * trace has no requests that came by cudaHostRegister, through CUPTI, or before this event. */
    uint64_t powers, n_powers;
};
struct mt_host_rounding mt_host_rounding_find(const struct mt_host *host);

/* Find the blocks at the moment, by the lines that requested them; the largest first. 0 or
 * -ENOMEM. */
int mt_host_find(struct mt_sums *sums, const struct mt_host *host,
                 const struct mt_definitions *definitions);

#endif
