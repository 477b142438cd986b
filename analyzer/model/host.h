/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Page-locked memory of the host (cudaHostAlloc, PyTorch's pin_memory and the like): what is live,
 * and the most that was.
 */
#ifndef MT_HOST_H
#define MT_HOST_H

#include <stdbool.h>

#include "analyzer/trace/definitions.h"
#include "heap.h"
#include "origins.h"

struct mt_host {
    struct mt_heap heap; /* all of it on slot 0 */
    uint64_t most, most_ns, most_event;
    struct mt_event freed; /* the last one, as its allocation: a free may turn out to have failed */
    bool is_taken;         /* its own most is not what is remembered */
};

/* One of zeros is empty. */
void mt_host_clear(struct mt_host *host);

/* Takes an event of any kind, number `number` of the trace, into account. 0 or -ENOMEM. */
int mt_host_event(struct mt_host *host, const struct mt_event *event, uint64_t number);

/* The moment in question is now; without that it is that of the most. */
void mt_host_take(struct mt_host *host);

/* What was live at the moment, by the lines that asked for it; the largest first. 0 or -ENOMEM. */
int mt_host_find(struct mt_origins *origins, const struct mt_host *host,
                 const struct mt_definitions *definitions);

#endif
