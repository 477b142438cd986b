/* SPDX-License-Identifier: Apache-2.0 */
/* Detect memory that grows with each of many iterations, by the lowest total of so many of them. */
#ifndef MT_SELECTION_GROWTH_H
#define MT_SELECTION_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

#define MT_SELECTION_GROWTH_ITERATIONS 16u /* whose lowest totals are compared */
#define MT_SELECTION_GROWTH_RISES 3u       /* in a row: growth that does not stop */

/* Of a device, from zeros on. */
struct mt_selection_growth {
    uint64_t floor, before; /* the lowest total of these iterations, and of those before them */
    uint32_t iteration, iterations, rises; /* rises: how often in a row it was higher */
};

/* Note a total, and how many iterations have begun. Return whether it grows: once for each time
 * that it has risen so often. */
static inline bool mt_selection_growth_note(struct mt_selection_growth *growth, uint32_t iteration,
                                            uint64_t total)
{
    if (iteration != growth->iteration && ++growth->iterations > MT_SELECTION_GROWTH_ITERATIONS) {
        bool is_more = growth->before && growth->floor > growth->before;
        growth->rises = is_more ? growth->rises + 1 : 0;
        growth->before = growth->floor;
        growth->floor = total;
        growth->iterations = 1;
    }
    growth->iteration = iteration;
    if (total < growth->floor)
        growth->floor = total;
    bool is_growing = growth->rises == MT_SELECTION_GROWTH_RISES;
    if (is_growing)
        growth->rises = 0;
    return is_growing;
}

#endif
