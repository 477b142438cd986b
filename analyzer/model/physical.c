/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/grow.h"
#include "cuda-level.h"

void mt_physical_clear(struct mt_physical *physical)
{
    free(physical->use);
    free(physical->handle);
    *physical = (struct mt_physical){0};
}

int mt_physical_made(struct mt_physical *physical, uint32_t memory)
{
    if (mt_grow(&physical->use, &physical->n_uses, memory + (size_t)1, sizeof *physical->use))
        return -ENOMEM;
    physical->use[memory] = (struct mt_physical_use){.handles = 1};
    return 0;
}

int mt_physical_mapped(struct mt_physical *physical, uint32_t memory, uint64_t handle,
                       uint32_t piece)
{
    if (mt_grow(&physical->handle, &physical->n_handles, piece + (size_t)1,
                sizeof *physical->handle))
        return -ENOMEM;
    physical->handle[piece] = handle;
    physical->use[memory].maps++;
    return 0;
}

uint64_t mt_physical_handle(const struct mt_physical *physical, uint32_t piece)
{
    return physical->handle[piece];
}

struct mt_physical_use *mt_physical_use(const struct mt_physical *physical, uint32_t memory)
{
    return &physical->use[memory];
}
