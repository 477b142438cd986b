/* SPDX-License-Identifier: Apache-2.0 */
#include "origins.h"
#include "analyzer/support/grow.h"

int mt_origins_add(struct mt_origins *origins, uint32_t stack, uint64_t bytes)
{
    uint64_t key = (uint64_t)stack + 1;
    uint32_t place = mt_address_map_get(&origins->by_stack, key); /* plus 1 */
    if (!place) {
        if (mt_grow(&origins->origin, &origins->capacity, origins->n + 1,
                    sizeof *origins->origin) ||
            mt_address_map_put(&origins->by_stack, key, (uint32_t)origins->n + 1))
            return -ENOMEM;
        origins->origin[origins->n++] = (struct mt_origin){.stack = stack};
        place = (uint32_t)origins->n;
    }
    origins->origin[place - 1].bytes += bytes;
    origins->origin[place - 1].blocks++;
    origins->bytes += bytes;
    origins->blocks++;
    return 0;
}

static int by_size(const void *left, const void *right)
{
    const struct mt_origin *a = left, *b = right;
    int order = (a->bytes < b->bytes) - (a->bytes > b->bytes);
    return order ? order : (a->stack > b->stack) - (a->stack < b->stack);
}

void mt_origins_sort(struct mt_origins *origins)
{
    if (origins->n)
        qsort(origins->origin, origins->n, sizeof *origins->origin, by_size);
}

void mt_origins_clear(struct mt_origins *origins)
{
    free(origins->origin);
    mt_address_map_clear(&origins->by_stack);
    memset(origins, 0, sizeof *origins);
}
