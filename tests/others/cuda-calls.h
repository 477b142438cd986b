/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that no-device.c makes of the runtime (-DRUNTIME), the driver (-DDRIVER) or NVML (-DNVML):
 * C(name, parameters, arguments). CUDA's headers are not needed. */
#ifndef CUDA_CALLS_H
#define CUDA_CALLS_H

#define CALLS_OF_RUNTIME(C)                                                                        \
    C(cudaGetDeviceCount, (int *), (&number))                                                      \
    C(cudaFree, (void *), (NULL))                                                                  \
    C(cudaMalloc, (void **, size_t), (&pointer, 1 << 20))                                          \
    C(cudaMallocManaged, (void **, size_t, unsigned), (&pointer, 1 << 20, 1))                      \
    C(cudaMallocHost, (void **, size_t), (&pointer, 1 << 20))                                      \
    C(cudaHostAlloc, (void **, size_t, unsigned), (&pointer, 1 << 20, 0))                          \
    C(cudaHostRegister, (void *, size_t, unsigned), (room, sizeof room, 0))                        \
    C(cudaMallocAsync, (void **, size_t, void *), (&pointer, 1 << 20, NULL))                       \
    C(cudaMallocPitch, (void **, size_t *, size_t, size_t), (&pointer, &bytes, 64, 64))            \
    C(cudaStreamCreate, (void **), (&pointer))                                                     \
    C(cudaStreamCreateWithFlags, (void **, unsigned), (&pointer, 1))                               \
    C(cudaMemset, (void *, int, size_t), (room, 0, 16))                                            \
    C(cudaMemcpy, (void *, const void *, size_t, int), (room, room + 64, 16, 4))                   \
    C(cudaFreeHost, (void *), (room))                                                              \
    C(cudaFreeAsync, (void *, void *), (room, NULL))                                               \
    C(cudaSetDevice, (int), (0))                                                                   \
    C(cudaGetDevice, (int *), (&number))                                                           \
    C(cudaMemGetInfo, (size_t *, size_t *), (&bytes, &total))                                      \
    C(cudaDeviceSynchronize, (void), ())                                                           \
    C(cudaDriverGetVersion, (int *), (&number))                                                    \
    C(cudaRuntimeGetVersion, (int *), (&number))                                                   \
    C(cudaDeviceReset, (void), ())                                                                 \
    C(cudaGetLastError, (void), ())

#define CALLS_OF_DRIVER(C)                                                                         \
    C(cuInit, (unsigned), (0))                                                                     \
    C(cuDeviceGetCount, (int *), (&number))                                                        \
    C(cuDeviceGet, (int *, int), (&number, 0))                                                     \
    C(cuDevicePrimaryCtxRetain, (void **, int), (&pointer, 0))                                     \
    C(cuCtxCreate_v2, (void **, unsigned, int), (&pointer, 0, 0))                                  \
    C(cuMemAlloc_v2, (void **, size_t), (&pointer, 1 << 20))                                       \
    C(cuMemAllocManaged, (void **, size_t, unsigned), (&pointer, 1 << 20, 1))                      \
    C(cuMemAllocAsync, (void **, size_t, void *), (&pointer, 1 << 20, NULL))                       \
    C(cuMemHostAlloc, (void **, size_t, unsigned), (&pointer, 1 << 20, 0))                         \
    C(cuMemFree_v2, (void *), (room))                                                              \
    C(cuModuleLoadData, (void **, const void *), (&pointer, room))                                 \
    C(cuStreamCreate, (void **, unsigned), (&pointer, 0))                                          \
    C(cuMemsetD8_v2, (void *, unsigned char, size_t), (room, 0, 16))                               \
    C(cuMemcpy, (void *, void *, size_t), (room, room + 64, 16))                                   \
    C(cuDriverGetVersion, (int *), (&number))                                                      \
    C(cuCtxDestroy_v2, (void *), (NULL))

#define CALLS_OF_NVML(C)                                                                           \
    C(nvmlInit_v2, (void), ())                                                                     \
    C(nvmlDeviceGetCount_v2, (unsigned *), ((unsigned *)&number))                                  \
    C(nvmlSystemGetDriverVersion, (char *, unsigned), (room, 80))                                  \
    C(nvmlShutdown, (void), ())

#ifndef RUNTIME
#undef CALLS_OF_RUNTIME
#define CALLS_OF_RUNTIME(C)
#endif
#ifndef DRIVER
#undef CALLS_OF_DRIVER
#define CALLS_OF_DRIVER(C)
#endif
#ifndef NVML
#undef CALLS_OF_NVML
#define CALLS_OF_NVML(C)
#endif
#define CALLS(C) CALLS_OF_RUNTIME(C) CALLS_OF_DRIVER(C) CALLS_OF_NVML(C)

#endif
