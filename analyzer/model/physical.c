/* SPDX-License-Identifier: Apache-2.0 */
#include "physical.h"
#include "analyzer/support/grow.h"

void mt_physical_clear(struct mt_physical *physical)
{
    free(physical->use);
    free(physical->handle);
    *physical = (struct mt_physical){0};
}

int mt_physical_made(struct mt_physical *physical, const struct mt_block *memory)
{
    if (mt_grow(&physical->use, &physical->n_uses, memory->index + (size_t)1,
                sizeof *physical->use))
        return -ENOMEM;
    physical->use[memory->index] = (struct mt_physical_use){.handles = 1};
    return 0;
}

int mt_physical_mapped(struct mt_physical *physical, const struct mt_block *memory,
                       const struct mt_block *piece)
{
    if (mt_grow(&physical->handle, &physical->n_handles, piece->index + (size_t)1,
                sizeof *physical->handle))
        return -ENOMEM;
    physical->handle[piece->index] = memory->address;
    physical->use[memory->index].maps++;
    return 0;
}

uint64_t mt_physical_handle(const struct mt_physical *physical, const struct mt_block *piece)
{
    return physical->handle[piece->index];
}

struct mt_physical_use *mt_physical_use(const struct mt_physical *physical,
                                        const struct mt_block *memory)
{
    return &physical->use[memory->index];
}
