/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where CUDA and NVTX find their tools: variables of the environment, which are set when we are
 * loaded, since other threads may read the environment later. One that names another tool is left.
 */
#ifndef MT_PRELOAD_INJECTION_H
#define MT_PRELOAD_INJECTION_H

#include <limits.h>
#include <stdbool.h>

#define MT_CUDA_INJECTION "CUDA_INJECTION64_PATH"
#define MT_NVTX_INJECTION "NVTX_INJECTION64_PATH"

/* A file beside libmemtap.so, or it itself where name is NULL: 0, or -ENOENT. */
int mt_own_path(char out[PATH_MAX], const char *name);

/* Whether programs' calls come to our hooks at all: we were preloaded. */
bool mt_is_preloaded(void);

#endif
