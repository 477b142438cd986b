/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a module's code as a program gives it to CUDA: a cubin, or a fat binary with images for
 * several architectures, of which the device takes one. */
#ifndef MT_PRELOAD_CUDA_IMAGE_H
#define MT_PRELOAD_CUDA_IMAGE_H

#include <stdint.h>

/* Of an image in memory; 0: it is of another sort (PTX, which is compiled first), or cannot be
 * read. Some system calls; keeps errno. */
uint64_t mt_cuda_image_bytes(const void *image);

/* Of a file with such an image; 0 likewise. */
uint64_t mt_cuda_file_bytes(const char *path);

#endif
