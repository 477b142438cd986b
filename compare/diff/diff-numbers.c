/* SPDX-License-Identifier: Apache-2.0 */
/* Compare the numbers of several runs. */
#include "analyzer/support/median.h"
#include "diff.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Return the median and raise *spread to the values' range. Sorts the values. */
static uint64_t middle(uint64_t *values, size_t n, uint64_t *spread)
{
    if (!n)
        return 0;
    mt_sort_sizes(values, n);
    if (*spread < values[n - 1] - values[0])
        *spread = values[n - 1] - values[0];
    return mt_median(values, n);
}

struct mt_change mt_change_make(uint64_t *values, size_t n_new, size_t n_old)
{
    struct mt_change change = {0};
    change.now = middle(values, n_new, &change.spread);
    change.old = middle(values + n_new, n_old, &change.spread);
    uint64_t apart = change.now > change.old ? change.now - change.old : change.old - change.now;
    change.is_noise = apart && apart <= change.spread;
    return change;
}

#define NUMBER(field, of)                                                                          \
    {offsetof(struct mt_diff_device, field), offsetof(struct mt_digest_device, of), 1}

struct number {
    size_t to, from, n;
};

static const struct number numbers[] = {
    NUMBER(allocated, allocated),
    NUMBER(reserved, most_reserved),
    NUMBER(cached, cached),
    NUMBER(unseen, unseen),
    NUMBER(growth, growth),
    NUMBER(at_end, at_end),
    {offsetof(struct mt_diff_device, phase), offsetof(struct mt_digest_device, most_in_phase),
     MT_PHASE_COUNT},
};

static const struct number at_moments[] = {
    NUMBER(compared, allocated),
    {offsetof(struct mt_diff_device, category), offsetof(struct mt_digest_device, category),
     MT_CATEGORY_ROOM},
};

static int take(struct mt_diff_device *device, const struct number *number, size_t n_numbers)
{
    size_t n = device->n_new + device->n_old;
    uint64_t *values = calloc(n + 1, sizeof *values);
    if (!values)
        return -ENOMEM;
    for (size_t i = 0; i < n_numbers; i++)
        for (size_t j = 0; j < number[i].n; j++) {
            struct mt_change *to = (struct mt_change *)((char *)device + number[i].to) + j;
            for (size_t k = 0; k < n; k++)
                values[k] = ((const uint64_t *)((const char *)device->runs[k] + number[i].from))[j];
            *to = mt_change_make(values, device->n_new, device->n_old);
        }
    free(values);
    return 0;
}

int mt_diff_numbers(struct mt_diff_device *device)
{
    return take(device, numbers, sizeof numbers / sizeof *numbers);
}

int mt_diff_categories(struct mt_diff_device *device)
{
    for (size_t run = 0; run < device->n_new + device->n_old; run++)
        for (unsigned i = 0; i < mt_n_categories; i++)
            if (device->runs[run]->certainty[i] > device->certainty[i])
                device->certainty[i] = device->runs[run]->certainty[i];
    return take(device, at_moments, sizeof at_moments / sizeof *at_moments);
}
