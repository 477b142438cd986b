/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times when copies and sets touched CUDA's allocations, by the numbers of their records in the
 * heap.
 */
#ifndef MT_TOUCHES_H
#define MT_TOUCHES_H

#include <stdbool.h>

#include "heap.h"

struct mt_touch {
    uint64_t first_ns, last_ns;
    bool is_seen; /* 0: never touched, no times */
};

struct mt_touches {
    struct mt_touch *touch;
    size_t n; /* room, zeros at first */
};

/* Touches of zeros are empty. */
void mt_touches_clear(struct mt_touches *touches);

/* Note that a copy or a set touches the blocks that its addresses point into. 0 or -ENOMEM. */
int mt_touches_event(struct mt_touches *touches, struct mt_heap *heap,
                     const struct mt_event *event);

/* Forget a record's touches: it is another block's from now on. */
void mt_touches_forget(struct mt_touches *touches, uint32_t index);

struct mt_touch mt_touches_of(const struct mt_touches *touches, uint32_t index);

#endif
