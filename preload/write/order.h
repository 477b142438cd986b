/* SPDX-License-Identifier: Apache-2.0 */
/* Orders the events of all rings, and the samples of devices, by time. For the writer only. */
#ifndef MT_WRITE_ORDER_H
#define MT_WRITE_ORDER_H

#include "preload/record/threads.h"
#include "trace-format/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_source {
    struct mt_thread *thread;
    const uint64_t *word;  /* of its ring */
    uint64_t at, end;      /* words of its ring: next to read, end */
    uint64_t last_ns;      /* time of the last event read */
    uint64_t until_ns;     /* no event there is later than this */
    uint64_t next_head;    /* of the event at `at`: what is there may change */
    uint64_t next_time_ns; /* the same event's time; UINT64_MAX: none */
};

/* A source with events, by the time of its next one. */
struct mt_next {
    uint64_t time_ns;
    struct mt_source *source;
};

struct mt_order {
    struct mt_source *source;
    struct mt_thread **thread; /* of each source, as threads.h lists them */
    size_t n, capacity;
    struct mt_next *next; /* a heap: none is older than that at half its place */
    size_t n_next;
    uint64_t horizon_ns;    /* every older event is visible */
    struct mt_event sample; /* the oldest waiting sample (device-watch.h) */
    bool has_sample;
    bool is_hasty;     /* do not wait for a thread that is putting an event */
    uint64_t slotless; /* events of rings that are slotless (tail.h) so far, with lost ones */
};

/* Collect events up to a horizon (is_last: up to the very last event). Return 0 or -ENOMEM. */
int mt_order_collect(struct mt_order *order, bool is_last);

/* Stop reading at the newest moment at which PyTorch had the least allocated on its first device,
 * within the newer half of each ring and within 10 s. Later events wait for the next time. */
void mt_order_hold_back(struct mt_order *order);

/* Read the next collected events in time order, at most `most`. Return their number: fewer if there
 * are no more before the horizon. */
size_t mt_order_read(struct mt_order *order, struct mt_event *out, size_t most);

/* Note in the tail, and in the rings' `safe` of that index (tail.h), that everything read so far is
 * in the trace, and then free its space in the rings. */
void mt_order_note(struct mt_order *order, unsigned index);
void mt_order_free_read(struct mt_order *order);

/* Free everything, and return the rings of ended threads to the kernel. */
void mt_order_release(struct mt_order *order);

#endif
