/* SPDX-License-Identifier: Apache-2.0 */
#include "sums.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"

#define FEWEST 1024u

static int by_key(const void *left, const void *right)
{
    const struct mt_sum *a = left, *b = right;
    for (unsigned i = 0; i < MT_SUM_KEYS; i++)
        if (a->key[i] != b->key[i])
            return MT_COMPARE(a->key[i], b->key[i]);
    return 0;
}

/* Compare: of one key, the sum with the largest block comes first. */
MT_ORDER(by_largest, struct mt_sum, by_key(a, b) ?: MT_FALLING(largest) ?: MT_RISING(stack))

MT_ORDER(by_size, struct mt_sum, MT_FALLING(bytes) ?: by_key(a, b))

static void put_together(struct mt_sums *sums)
{
    size_t n = 0;
    if (sums->n)
        qsort(sums->sum, sums->n, sizeof *sums->sum, by_largest);
    for (size_t i = 0; i < sums->n; i++) {
        const struct mt_sum *one = &sums->sum[i];
        struct mt_sum *to = n ? &sums->sum[n - 1] : NULL;
        if (!to || by_key(to, one)) {
            sums->sum[n++] = *one;
            continue;
        }
        to->bytes += one->bytes;
        to->blocks += one->blocks;
        to->unused += one->unused;
        to->certainty = one->certainty > to->certainty ? one->certainty : to->certainty;
        for (unsigned j = 0; j < MT_SUM_CERTAINTIES; j++)
            to->of_certainty[j] += one->of_certainty[j];
        if (one->guess && (!to->guess || to->largest_guess < one->largest_guess)) {
            to->guess = one->guess;
            to->largest_guess = one->largest_guess;
        }
    }
    sums->n = n;
}

/* Double the capacity with the keys, so that each block is sorted only a few times. */
static int make_room(struct mt_sums *sums)
{
    if (sums->n < sums->capacity)
        return 0;
    put_together(sums);
    if (sums->capacity && sums->n <= sums->capacity / 2)
        return 0;
    size_t more = sums->capacity ? sums->capacity * 2 : FEWEST;
    return mt_grow(&sums->sum, &sums->capacity, more, sizeof *sums->sum);
}

int mt_sums_add(struct mt_sums *sums, uint64_t bytes, const struct mt_sum *block)
{
    if (make_room(sums))
        return -ENOMEM;
    struct mt_sum *sum = &sums->sum[sums->n++];
    *sum = *block;
    sum->bytes = sum->largest = bytes;
    sum->blocks = 1;
    sum->of_certainty[block->certainty] = bytes;
    sums->bytes += bytes;
    sums->blocks++;
    sum->largest_guess = block->guess ? bytes : 0;
    return 0;
}

void mt_sums_sort(struct mt_sums *sums)
{
    put_together(sums);
    if (sums->n)
        qsort(sums->sum, sums->n, sizeof *sums->sum, by_size);
}

void mt_sums_clear(struct mt_sums *sums)
{
    free(sums->sum);
    *sums = (struct mt_sums){0};
}
