/* SPDX-License-Identifier: Apache-2.0 */
#include "imbalance.h"
#include "analyzer/support/median.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define MOST_RANKS ((size_t)1 << 20) /* a file may name any number */

static uint64_t bytes_of(const struct mt_job_rank *rank, int category)
{
    return category < 0 ? rank->allocated : rank->category[category];
}

/* A rank that stands for others counts as often, if each trace says for how many. */
static size_t count_of(const struct mt_job_rank *rank)
{
    return rank->stands_for > 0 ? (size_t)rank->stands_for : 1;
}

static size_t count_all(const struct mt_job_rank *ranks, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n && count < MOST_RANKS; i++)
        count += count_of(&ranks[i]);
    return count;
}

int mt_imbalance_find(struct mt_imbalance *imbalance, const struct mt_job_rank *ranks, size_t n,
                      size_t highest)
{
    size_t room = count_all(ranks, n);
    bool is_weighed = room < MOST_RANKS;
    uint64_t *values = calloc(is_weighed ? room : n, sizeof *values);
    *imbalance = (struct mt_imbalance){0};
    if (!values)
        return -ENOMEM;
    for (int category = -1; category < (int)mt_n_categories; category++) {
        size_t count = 0;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < (is_weighed ? count_of(&ranks[i]) : 1); j++)
                if (ranks[i].has_device)
                    values[count++] = bytes_of(&ranks[i], category);
        if (!count)
            break;
        mt_sort_sizes(values, count);
        uint64_t middle = mt_median(values, count), own = bytes_of(&ranks[highest], category);
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
