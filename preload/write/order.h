/* SPDX-License-Identifier: Apache-2.0 */
/* Order the events of all rings, and the samples of devices, by time. For the writer only. */
#ifndef MT_PRELOAD_ORDER_H
#define MT_PRELOAD_ORDER_H

#include <stdbool.h>

#include "preload/record/threads.h"

struct mt_source {
    struct mt_thread *thread;
    uint64_t at, end;      /* words of its ring: next to take, first not to take */
    uint64_t until_ns;     /* no event there is later */
    uint64_t next_time_ns; /* of the event at `at`; UINT64_MAX: none */
};

struct mt_order {
    struct mt_source *source;
    struct mt_thread **thread; /* of each source, as threads.h lists them */
    size_t n, capacity;
    uint64_t horizon_ns;    /* every older event is here */
    struct mt_event sample; /* the oldest waiting sample (device-watch.h) */
    bool has_sample;
    size_t current;    /* the source whose events come next ..., SIZE_MAX: samples */
    uint64_t until_ns; /* ... up to this time */
    bool is_hasty;     /* do not wait for a thread that is putting an event */
    uint64_t apart;    /* events of rings that are apart (tail.h) so far, with lost ones */
};

/* Collect events up to a horizon: 0 or -ENOMEM. is_last: up to the very last event. */
int mt_order_collect(struct mt_order *order, bool is_last);

/* Return 1 and the next collected event by time, or 0 if there is none before the horizon. */
int mt_order_next(struct mt_order *order, struct mt_event *event);

/* Everything taken so far is in the trace: note it in the tail and the rings' `safe` of that index
 * (tail.h), and then free its place in the rings. */
void mt_order_note(struct mt_order *order, unsigned index);
void mt_order_give_back(struct mt_order *order);

/* Free everything, and give the rings of ended threads back to the kernel. */
void mt_order_release(struct mt_order *order);

#endif
