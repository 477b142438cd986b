/* SPDX-License-Identifier: Apache-2.0 */
/* The size of arrays, which CUDA calls describe by texels. Pure functions. */
#ifndef MT_PRELOAD_CUDA_SIZES_H
#define MT_PRELOAD_CUDA_SIZES_H

#include "preload/hooks/cuda-types.h"

#include <stdint.h>

/* Return the size of an array with that many levels, each half as wide, high and deep as the
 * previous one. A dimension of 0 does not exist. 0 if texel is NULL. */
uint64_t mt_cuda_array_bytes(const struct mt_texel *texel, struct mt_extent extent,
                             unsigned levels);

/* Return the same for the driver's descriptions; NULL: 0. */
uint64_t mt_cuda_flat_bytes(const struct mt_array *array);
uint64_t mt_cuda_deep_bytes(const struct mt_array_3d *array, unsigned levels);

/* The size of a CUDA module's code as a program passes it to CUDA: a cubin, or a fat binary with
 * images for several architectures, of which the device loads one. */

/* Return the size of an image in memory; 0 if it is of another kind (PTX, which CUDA compiles
 * first) or unreadable. Makes some system calls; keeps errno. */
uint64_t mt_cuda_image_bytes(const void *image);

/* Return the same for an image in a file. */
uint64_t mt_cuda_file_bytes(const char *path);

#endif
