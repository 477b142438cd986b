/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/median.h"
#include "job.h"

#include <errno.h>
#include <stdlib.h>

#define MOST_ALIKE ((uint64_t)1 << 32) /* a file may contain any number */

struct peak {
    uint64_t bytes; /* first: mt_by_value compares it */
    uint64_t ranks; /* number of ranks with it */
};

static uint64_t bytes_of(const struct mt_job_rank *rank, int category)
{
    return category < 0 ? rank->allocated : rank->category[category];
}

/* Return a rank's weight: the number of ranks that it stands for. */
static uint64_t count_of(const struct mt_job_rank *rank)
{
    uint64_t ranks = rank->stands_for > 0 ? (uint64_t)rank->stands_for : 1;
    return ranks < MOST_ALIKE ? ranks : MOST_ALIKE;
}

static uint64_t bytes_at(const struct peak *sorted, uint64_t place)
{
    for (; place >= sorted->ranks; sorted++)
        place -= sorted->ranks;
    return sorted->bytes;
}

/* Return the weighted median of n > 0 peaks, as mt_median does. */
static uint64_t median(struct peak *peaks, size_t n)
{
    uint64_t ranks = 0;
    qsort(peaks, n, sizeof *peaks, mt_by_value);
    for (size_t i = 0; i < n; i++)
        ranks += peaks[i].ranks;
    const uint64_t middle[] = {bytes_at(peaks, (ranks - 1) / 2), bytes_at(peaks, ranks / 2)};
    return mt_median(middle, 2);
}

int mt_imbalance_find(struct mt_imbalance *imbalance, const struct mt_job_rank *ranks, size_t n,
                      size_t highest)
{
    struct peak *peaks = calloc(n, sizeof *peaks);
    *imbalance = (struct mt_imbalance){0};
    if (!peaks)
        return -ENOMEM;
    for (int category = -1; category < (int)mt_n_categories; category++) {
        size_t count = 0;
        for (size_t i = 0; i < n; i++)
            if (ranks[i].has_device)
                peaks[count++] = (struct peak){bytes_of(&ranks[i], category), count_of(&ranks[i])};
        if (!count)
            break;
        uint64_t middle = median(peaks, count), own = bytes_of(&ranks[highest], category);
        if (category < 0) {
            imbalance->median = middle;
            imbalance->above = own - middle;
            continue;
        }
        imbalance->category[category] = (int64_t)(own - middle);
        if (imbalance->category[category] > imbalance->category[imbalance->most])
            imbalance->most = (enum mt_category)category;
    }
    free(peaks);
    return 0;
}
