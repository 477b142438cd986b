/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-sizes.h"

static uint64_t at_level(uint64_t texels, unsigned level)
{
    return level < 64 && texels >> level ? texels >> level : 1;
}

static uint64_t texels_of(struct mt_extent extent, unsigned levels)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < levels && i < 64; i++)
        sum += at_level(extent.width, i) * at_level(extent.height, i) * at_level(extent.depth, i);
    return sum;
}

uint64_t mt_cuda_array_bytes(const struct mt_texel *texel, struct mt_extent extent, unsigned levels)
{
    uint64_t bits = texel ? (uint64_t)(texel->x + texel->y + texel->z + texel->w) : 0;
    return texels_of(extent, levels) * (bits / 8);
}

/* Return the bytes of a texel's channel by its CUarray_format; 0: packed in some other way. */
static uint64_t channel_bytes(unsigned format)
{
    switch (format) {
    case 0x01: /* unsigned and signed 8-bit integers */
    case 0x08:
        return 1;
    case 0x02: /* 16-bit integers, half */
    case 0x09:
    case 0x10:
        return 2;
    case 0x03: /* 32-bit integers, float */
    case 0x0a:
    case 0x20:
        return 4;
    }
    return 0;
}

uint64_t mt_cuda_flat_bytes(const struct mt_array *array)
{
    if (!array)
        return 0;
    return texels_of((struct mt_extent){array->width, array->height, 0}, 1) * array->channels *
           channel_bytes(array->format);
}

uint64_t mt_cuda_deep_bytes(const struct mt_array_3d *array, unsigned levels)
{
    if (!array)
        return 0;
    return texels_of((struct mt_extent){array->width, array->height, array->depth}, levels) *
           array->channels * channel_bytes(array->format);
}
