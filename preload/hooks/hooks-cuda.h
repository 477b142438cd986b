/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks of the runtime's and the driver's memory; see hooks.h. not-hooked.list has the
 * functions that allocate or free memory without a hook, with the reason. */
#ifndef MT_PRELOAD_HOOKS_CUDA_H
#define MT_PRELOAD_HOOKS_CUDA_H

#ifndef MT_EXPORTS_MAP
#include "cuda-types.h"
#endif

#include "hooks-copies.h"
#include "hooks-launches.h"
#include "hooks-memory.h"
#include "hooks-noticed.h"

#define MT_WITHOUT_PARENTHESES(...) __VA_ARGS__
#define MT_AND_STREAM(parameters) (MT_WITHOUT_PARENTHESES parameters, void *stream)

/* clang-format off */
/* The runtime's functions; all return a cudaError_t. */
#define MT_CUDART_ROW(H, name, symbol, parameters, arguments, record)                              \
    H(name, symbol, "libcudart.so.13", unsigned, parameters)
#define MT_CUDART_ROWS(H, name, suffix, symbol, second, parameters, arguments, record)             \
    MT_CUDART_ROW(H, name, symbol, parameters, arguments, record)                                  \
    MT_CUDART_ROW(H, name##_##suffix, second, parameters, arguments, record)
#define MT_CUDART_HOOKS(H)                                                                         \
    MT_CUDART_COPIES(MT_CUDART_ROWS, MT_CUDART_ROW, H)                                             \
    MT_CUDART_NOTICED_HOOKS(H)                                                                     \
    MT_CUDART_MEMORY(MT_CUDART_ROWS, MT_CUDART_ROW, H)                                             \
    H(cuda_device_count, "cudaGetDeviceCount", "libcudart.so.13", unsigned,                        \
      (int *count))                                                                                \
    H(cuda_set_device, "cudaSetDevice", "libcudart.so.13", unsigned,                               \
      (int device))                                                                                \
    H(cuda_malloc, "cudaMalloc", "libcudart.so.13", unsigned,                                      \
      (void **address, size_t size))
/* D(name, base, symbol, since, until, parameters): the driver's functions. base is the name for
 * cuGetProcAddress. since, until: the CUDA versions (1000 major + 10 minor; until is excluded, 0:
 * no end) whose lookups mean this signature. A symbol that ends in _ptsz or _ptds is meant if the
 * flags request the thread's own default stream. All return a CUresult. */
#define MT_DRIVER_COPY_ROWS(D, name, base, symbol, second, since, parameters, arguments, record)   \
    D(name, base, symbol, since, 0, parameters)                                                    \
    D(name##_ptds, base, second, 7000, 0, parameters)
#define MT_DRIVER_ASYNC_ROWS(D, name, base, symbol, second, since, parameters, arguments, record)  \
    D(name##_async, base, symbol, since, 0, MT_AND_STREAM(parameters))                             \
    D(name##_async_ptsz, base, second, 7000, 0, MT_AND_STREAM(parameters))
#define MT_DRIVER_ROW(D, name, base, symbol, since, until, parameters, arguments, record)          \
    D(name, base, symbol, since, until, parameters)
#define MT_DRIVER_ROWS(D, name, base, symbol, second, since, parameters, arguments, record)        \
    D(name, base, symbol, since, 0, parameters)                                                    \
    D(name##_ptsz, base, second, since, 0, parameters)
#define MT_DRIVER_HOOKS(D)                                                                         \
    MT_DRIVER_COPIES(MT_DRIVER_COPY_ROWS, MT_DRIVER_ASYNC_ROWS, D)                                 \
    MT_DRIVER_NOTICED_HOOKS(D)                                                                     \
    MT_DRIVER_LAUNCHES(D)                                                                          \
    MT_DRIVER_MEMORY(MT_DRIVER_ROW, MT_DRIVER_ROWS, D)                                             \
    D(cu_init, "cuInit", "cuInit", 2000, 0,                                                        \
      (unsigned flags))                                                                            \
    D(cu_mem_create, "cuMemCreate", "cuMemCreate", 10020, 0,                                       \
      (uint64_t *handle, size_t size, const struct mt_physical_properties *wanted,                 \
       unsigned long long flags))
/* clang-format on */

#endif
