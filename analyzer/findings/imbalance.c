/* SPDX-License-Identifier: Apache-2.0 */
#include "imbalance.h"
#include "analyzer/support/median.h"

#include <errno.h>
#include <stdlib.h>

/* A rank without device memory has none of it. */
static uint64_t bytes_of(const struct mt_analysis *analysis, int category)
{
    const struct mt_device *device = mt_analysis_main_device(analysis);
    return !device ? 0 : category < 0 ? device->at.allocated : device->category[category].bytes;
}

int mt_imbalance_find(struct mt_imbalance *imbalance, const struct mt_analysis *analyses, size_t n,
                      const struct mt_analysis *highest)
{
    uint64_t *values = calloc(n, sizeof *values);
    *imbalance = (struct mt_imbalance){0};
    if (!values)
        return -ENOMEM;
    for (int category = -1; category < (int)mt_n_categories; category++) {
        for (size_t i = 0; i < n; i++)
            values[i] = bytes_of(&analyses[i], category);
        mt_sort_sizes(values, n);
        uint64_t middle = values[(n - 1) / 2], own = bytes_of(highest, category);
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
