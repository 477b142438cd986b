/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of what CUDA calls describe by texels. Pure. */
#ifndef MT_PRELOAD_CUDA_SIZES_H
#define MT_PRELOAD_CUDA_SIZES_H

#include "preload/hooks/cuda-types.h"

#include <stdint.h>

/* An array with so many levels, each half as wide, high and deep as the one before; a dimension of
 * 0 is not there. texel NULL: 0. */
uint64_t mt_cuda_array_bytes(const struct mt_texel *texel, struct mt_extent extent,
                             unsigned levels);

/* The same as the driver describes it; NULL: 0. */
uint64_t mt_cuda_flat_bytes(const struct mt_array *array);
uint64_t mt_cuda_deep_bytes(const struct mt_array_3d *array, unsigned levels);

#endif
