/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's events in order: its moments, and between them what CUDA handed out and took back, and
 * requests that failed. Rows are made when they are shown.
 */
#ifndef MT_PAGE_EVENT_LIST_H
#define MT_PAGE_EVENT_LIST_H

#include "areas.h"

#include <jansson.h>

enum mt_listed_kind {
    MT_LISTED_ALLOC,
    MT_LISTED_FREE,
    MT_LISTED_SEGMENT, /* of PyTorch's allocator */
    MT_LISTED_SEGMENT_FREED,
    MT_LISTED_CUDA, /* other memory of CUDA's: a library's, or the program's own */
    MT_LISTED_CUDA_FREED,
    MT_LISTED_OOM
};

/* A row that is no moment. */
struct mt_listed {
    uint64_t time_ns;
    uint32_t event, moment; /* moment: the first one that is not before it */
    uint32_t number;        /* of an area or a failed request */
    uint8_t kind;           /* enum mt_listed_kind */
};

struct mt_failed {
    uint64_t time_ns, size;
    uint32_t event, stack;
    uint8_t slot;
};

struct mt_event_list {
    struct mt_failed *failed;
    struct mt_listed *listed; /* of one slot, in order */
    size_t n_failed, failed_capacity, n_listed, listed_capacity;
    unsigned slot; /* of `listed` */
    bool is_made;
};

/* Note failed requests. Return 0 or -ENOMEM. */
int mt_event_list_note(struct mt_event_list *list, const struct mt_replay *replay,
                       const struct mt_event *event);

/* Make the rows of a slot. Return 0 or -ENOMEM. */
int mt_event_list_make(struct mt_event_list *list, const struct mt_areas *areas,
                       const struct mt_lives *lives, unsigned slot);

/* Return the row of a moment. */
size_t mt_event_list_row(const struct mt_event_list *list, size_t moment);

/* Make [{"kind", "event", "time_ns", "moment", "bytes", "allocated", "life", "category", "found",
 * "line"}] of n rows from the first. allocated: live bytes afterwards; life: -1 where the row has
 * no block. */
json_t *mt_event_list_rows(const struct mt_event_list *list, const struct mt_areas *areas,
                           const struct mt_lives *lives, const struct mt_replay *replay,
                           size_t first, size_t n);

void mt_event_list_clear(struct mt_event_list *list);

#endif
