/* SPDX-License-Identifier: Apache-2.0 */
#include "imbalance.h"
#include "analyzer/support/median.h"

#include <errno.h>
#include <stdlib.h>

/* A rank without device memory has none of it. */
static uint64_t bytes_of(const struct mt_job_rank *rank, int category)
{
    return category < 0 ? rank->allocated : rank->category[category];
}

int mt_imbalance_find(struct mt_imbalance *imbalance, const struct mt_job_rank *ranks, size_t n,
                      size_t highest)
{
    uint64_t *values = calloc(n, sizeof *values);
    *imbalance = (struct mt_imbalance){0};
    if (!values)
        return -ENOMEM;
    for (int category = -1; category < (int)mt_n_categories; category++) {
        for (size_t i = 0; i < n; i++)
            values[i] = bytes_of(&ranks[i], category);
        mt_sort_sizes(values, n);
        uint64_t middle = mt_median(values, n), own = bytes_of(&ranks[highest], category);
        if (category < 0) {
            imbalance->median = middle;
            imbalance->above = own - middle;
            continue;
        }
        imbalance->category[category] = (int64_t)(own - middle);
        if (imbalance->category[category] > imbalance->category[imbalance->most])
            imbalance->most = (enum mt_category)category;
    }
    free(values);
    return 0;
}
