/* SPDX-License-Identifier: Apache-2.0 */
/* The size of a CUDA module's code as a program gives it to CUDA: a cubin, or a fat binary with
 * images for several architectures, of which the device takes one. */
#ifndef MT_PRELOAD_CUDA_IMAGE_H
#define MT_PRELOAD_CUDA_IMAGE_H

#include <stdint.h>

/* Return the bytes of an image in memory; 0: it is another kind (PTX, which CUDA compiles first),
 * or cannot be read. Makes some system calls; keeps errno. */
uint64_t mt_cuda_image_bytes(const void *image);

/* The same for a file with an image. */
uint64_t mt_cuda_file_bytes(const char *path);

#endif
