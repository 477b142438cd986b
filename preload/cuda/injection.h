/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of the environment that tell CUDA and NVTX their tools. They are set when we are
 * loaded, because other threads may read the environment later. One that names another tool stays.
 */
#ifndef MT_PRELOAD_INJECTION_H
#define MT_PRELOAD_INJECTION_H

#include <limits.h>
#include <stdbool.h>

#define MT_CUDA_INJECTION "CUDA_INJECTION64_PATH"
#define MT_NVTX_INJECTION "NVTX_INJECTION64_PATH"

/* Write the path of a file beside libmemtap.so, or its own if name is NULL. Return 0 or -ENOENT. */
int mt_own_path(char out[PATH_MAX], const char *name);

/* Return whether we were preloaded, so that programs' calls come to our hooks. */
bool mt_is_preloaded(void);

#endif
