/* SPDX-License-Identifier: Apache-2.0 */
/* The size of arrays, which CUDA calls describe by texels. Pure functions. */
#ifndef MT_PRELOAD_CUDA_SIZES_H
#define MT_PRELOAD_CUDA_SIZES_H

#include "preload/hooks/cuda-types.h"

#include <stdint.h>

/* Return the bytes of an array with so many levels, each half as wide, high and deep as the one
 * before. A dimension of 0 does not exist. texel NULL: 0. */
uint64_t mt_cuda_array_bytes(const struct mt_texel *texel, struct mt_extent extent,
                             unsigned levels);

/* The same for the driver's descriptions; NULL: 0. */
uint64_t mt_cuda_flat_bytes(const struct mt_array *array);
uint64_t mt_cuda_deep_bytes(const struct mt_array_3d *array, unsigned levels);

#endif
