/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks of what copies and sets memory, of the runtime and of the driver, each once, as in
 * hooks-cuda.h, which includes this. _ptds and _ptsz: for the thread's own default stream. */
#ifndef MT_PRELOAD_HOOKS_COPIES_H
#define MT_PRELOAD_HOOKS_COPIES_H

/* clang-format off */
#define MT_CUDART_COPY_HOOKS(H)                                                                    \
    H(cuda_copy, "cudaMemcpy", "libcudart.so.13", unsigned,                                        \
      (void *to, const void *from, size_t size, unsigned kind))                                    \
    H(cuda_copy_ptds, "cudaMemcpy_ptds", "libcudart.so.13", unsigned,                              \
      (void *to, const void *from, size_t size, unsigned kind))                                    \
    H(cuda_copy_async, "cudaMemcpyAsync", "libcudart.so.13", unsigned,                             \
      (void *to, const void *from, size_t size, unsigned kind, void *stream))                      \
    H(cuda_copy_async_ptsz, "cudaMemcpyAsync_ptsz", "libcudart.so.13", unsigned,                   \
      (void *to, const void *from, size_t size, unsigned kind, void *stream))                      \
    H(cuda_copy_2d, "cudaMemcpy2D", "libcudart.so.13", unsigned,                                   \
      (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,               \
       size_t height, unsigned kind))                                                              \
    H(cuda_copy_2d_ptds, "cudaMemcpy2D_ptds", "libcudart.so.13", unsigned,                         \
      (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,               \
       size_t height, unsigned kind))                                                              \
    H(cuda_copy_2d_async, "cudaMemcpy2DAsync", "libcudart.so.13", unsigned,                        \
      (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,               \
       size_t height, unsigned kind, void *stream))                                                \
    H(cuda_copy_2d_async_ptsz, "cudaMemcpy2DAsync_ptsz", "libcudart.so.13", unsigned,              \
      (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,               \
       size_t height, unsigned kind, void *stream))                                                \
    H(cuda_copy_3d, "cudaMemcpy3D", "libcudart.so.13", unsigned,                                   \
      (const struct mt_box_copy *copy))                                                            \
    H(cuda_copy_3d_ptds, "cudaMemcpy3D_ptds", "libcudart.so.13", unsigned,                         \
      (const struct mt_box_copy *copy))                                                            \
    H(cuda_copy_3d_async, "cudaMemcpy3DAsync", "libcudart.so.13", unsigned,                        \
      (const struct mt_box_copy *copy, void *stream))                                              \
    H(cuda_copy_3d_async_ptsz, "cudaMemcpy3DAsync_ptsz", "libcudart.so.13", unsigned,              \
      (const struct mt_box_copy *copy, void *stream))                                              \
    H(cuda_copy_peer, "cudaMemcpyPeer", "libcudart.so.13", unsigned,                               \
      (void *to, int to_device, const void *from, int from_device, size_t size))                   \
    H(cuda_copy_peer_async, "cudaMemcpyPeerAsync", "libcudart.so.13", unsigned,                    \
      (void *to, int to_device, const void *from, int from_device, size_t size, void *stream))     \
    H(cuda_set, "cudaMemset", "libcudart.so.13", unsigned,                                         \
      (void *at, int value, size_t size))                                                          \
    H(cuda_set_ptds, "cudaMemset_ptds", "libcudart.so.13", unsigned,                               \
      (void *at, int value, size_t size))                                                          \
    H(cuda_set_async, "cudaMemsetAsync", "libcudart.so.13", unsigned,                              \
      (void *at, int value, size_t size, void *stream))                                            \
    H(cuda_set_async_ptsz, "cudaMemsetAsync_ptsz", "libcudart.so.13", unsigned,                    \
      (void *at, int value, size_t size, void *stream))                                            \
    H(cuda_set_2d, "cudaMemset2D", "libcudart.so.13", unsigned,                                    \
      (void *at, size_t pitch, int value, size_t width, size_t height))                            \
    H(cuda_set_2d_ptds, "cudaMemset2D_ptds", "libcudart.so.13", unsigned,                          \
      (void *at, size_t pitch, int value, size_t width, size_t height))                            \
    H(cuda_set_2d_async, "cudaMemset2DAsync", "libcudart.so.13", unsigned,                         \
      (void *at, size_t pitch, int value, size_t width, size_t height, void *stream))              \
    H(cuda_set_2d_async_ptsz, "cudaMemset2DAsync_ptsz", "libcudart.so.13", unsigned,               \
      (void *at, size_t pitch, int value, size_t width, size_t height, void *stream))              \
    H(cuda_set_3d, "cudaMemset3D", "libcudart.so.13", unsigned,                                    \
      (struct mt_pitched at, int value, struct mt_extent extent))                                  \
    H(cuda_set_3d_ptds, "cudaMemset3D_ptds", "libcudart.so.13", unsigned,                          \
      (struct mt_pitched at, int value, struct mt_extent extent))                                  \
    H(cuda_set_3d_async, "cudaMemset3DAsync", "libcudart.so.13", unsigned,                         \
      (struct mt_pitched at, int value, struct mt_extent extent, void *stream))                    \
    H(cuda_set_3d_async_ptsz, "cudaMemset3DAsync_ptsz", "libcudart.so.13", unsigned,               \
      (struct mt_pitched at, int value, struct mt_extent extent, void *stream))

#define MT_DRIVER_COPY_HOOKS(D)                                                                    \
    D(cu_copy, "cuMemcpy", "cuMemcpy", 4000, 0,                                                    \
      (uint64_t to, uint64_t from, size_t size))                                                   \
    D(cu_copy_ptds, "cuMemcpy", "cuMemcpy_ptds", 7000, 0,                                          \
      (uint64_t to, uint64_t from, size_t size))                                                   \
    D(cu_copy_async, "cuMemcpyAsync", "cuMemcpyAsync", 4000, 0,                                    \
      (uint64_t to, uint64_t from, size_t size, void *stream))                                     \
    D(cu_copy_async_ptsz, "cuMemcpyAsync", "cuMemcpyAsync_ptsz", 7000, 0,                          \
      (uint64_t to, uint64_t from, size_t size, void *stream))                                     \
    D(cu_copy_in, "cuMemcpyHtoD", "cuMemcpyHtoD_v2", 3020, 0,                                      \
      (uint64_t to, const void *from, size_t size))                                                \
    D(cu_copy_in_ptds, "cuMemcpyHtoD", "cuMemcpyHtoD_v2_ptds", 7000, 0,                            \
      (uint64_t to, const void *from, size_t size))                                                \
    D(cu_copy_in_async, "cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2", 3020, 0,                      \
      (uint64_t to, const void *from, size_t size, void *stream))                                  \
    D(cu_copy_in_async_ptsz, "cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2_ptsz", 7000, 0,            \
      (uint64_t to, const void *from, size_t size, void *stream))                                  \
    D(cu_copy_out, "cuMemcpyDtoH", "cuMemcpyDtoH_v2", 3020, 0,                                     \
      (void *to, uint64_t from, size_t size))                                                      \
    D(cu_copy_out_ptds, "cuMemcpyDtoH", "cuMemcpyDtoH_v2_ptds", 7000, 0,                           \
      (void *to, uint64_t from, size_t size))                                                      \
    D(cu_copy_out_async, "cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync_v2", 3020, 0,                     \
      (void *to, uint64_t from, size_t size, void *stream))                                        \
    D(cu_copy_out_async_ptsz, "cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync_v2_ptsz", 7000, 0,           \
      (void *to, uint64_t from, size_t size, void *stream))                                        \
    D(cu_copy_within, "cuMemcpyDtoD", "cuMemcpyDtoD_v2", 3020, 0,                                  \
      (uint64_t to, uint64_t from, size_t size))                                                   \
    D(cu_copy_within_ptds, "cuMemcpyDtoD", "cuMemcpyDtoD_v2_ptds", 7000, 0,                        \
      (uint64_t to, uint64_t from, size_t size))                                                   \
    D(cu_copy_within_async, "cuMemcpyDtoDAsync", "cuMemcpyDtoDAsync_v2", 3020, 0,                  \
      (uint64_t to, uint64_t from, size_t size, void *stream))                                     \
    D(cu_copy_within_async_ptsz, "cuMemcpyDtoDAsync", "cuMemcpyDtoDAsync_v2_ptsz", 7000, 0,        \
      (uint64_t to, uint64_t from, size_t size, void *stream))                                     \
    D(cu_copy_peer, "cuMemcpyPeer", "cuMemcpyPeer", 4000, 0,                                       \
      (uint64_t to, void *to_context, uint64_t from, void *from_context, size_t size))             \
    D(cu_copy_peer_ptds, "cuMemcpyPeer", "cuMemcpyPeer_ptds", 7000, 0,                             \
      (uint64_t to, void *to_context, uint64_t from, void *from_context, size_t size))             \
    D(cu_copy_peer_async, "cuMemcpyPeerAsync", "cuMemcpyPeerAsync", 4000, 0,                       \
      (uint64_t to, void *to_context, uint64_t from, void *from_context, size_t size,              \
       void *stream))                                                                              \
    D(cu_copy_peer_async_ptsz, "cuMemcpyPeerAsync", "cuMemcpyPeerAsync_ptsz", 7000, 0,             \
      (uint64_t to, void *to_context, uint64_t from, void *from_context, size_t size,              \
       void *stream))                                                                              \
    D(cu_copy_2d, "cuMemcpy2D", "cuMemcpy2D_v2", 3020, 0,                                          \
      (const struct mt_flat_copy *copy))                                                           \
    D(cu_copy_2d_ptds, "cuMemcpy2D", "cuMemcpy2D_v2_ptds", 7000, 0,                                \
      (const struct mt_flat_copy *copy))                                                           \
    D(cu_copy_2d_async, "cuMemcpy2DAsync", "cuMemcpy2DAsync_v2", 3020, 0,                          \
      (const struct mt_flat_copy *copy, void *stream))                                             \
    D(cu_copy_2d_async_ptsz, "cuMemcpy2DAsync", "cuMemcpy2DAsync_v2_ptsz", 7000, 0,                \
      (const struct mt_flat_copy *copy, void *stream))                                             \
    D(cu_copy_2d_unaligned, "cuMemcpy2DUnaligned", "cuMemcpy2DUnaligned_v2", 3020, 0,              \
      (const struct mt_flat_copy *copy))                                                           \
    D(cu_copy_2d_unaligned_ptds, "cuMemcpy2DUnaligned", "cuMemcpy2DUnaligned_v2_ptds", 7000, 0,    \
      (const struct mt_flat_copy *copy))                                                           \
    D(cu_copy_3d, "cuMemcpy3D", "cuMemcpy3D_v2", 3020, 0,                                          \
      (const struct mt_deep_copy *copy))                                                           \
    D(cu_copy_3d_ptds, "cuMemcpy3D", "cuMemcpy3D_v2_ptds", 7000, 0,                                \
      (const struct mt_deep_copy *copy))                                                           \
    D(cu_copy_3d_async, "cuMemcpy3DAsync", "cuMemcpy3DAsync_v2", 3020, 0,                          \
      (const struct mt_deep_copy *copy, void *stream))                                             \
    D(cu_copy_3d_async_ptsz, "cuMemcpy3DAsync", "cuMemcpy3DAsync_v2_ptsz", 7000, 0,                \
      (const struct mt_deep_copy *copy, void *stream))                                             \
    D(cu_set_8, "cuMemsetD8", "cuMemsetD8_v2", 3020, 0,                                            \
      (uint64_t at, unsigned char value, size_t n))                                                \
    D(cu_set_8_ptds, "cuMemsetD8", "cuMemsetD8_v2_ptds", 7000, 0,                                  \
      (uint64_t at, unsigned char value, size_t n))                                                \
    D(cu_set_8_async, "cuMemsetD8Async", "cuMemsetD8Async", 3020, 0,                               \
      (uint64_t at, unsigned char value, size_t n, void *stream))                                  \
    D(cu_set_8_async_ptsz, "cuMemsetD8Async", "cuMemsetD8Async_ptsz", 7000, 0,                     \
      (uint64_t at, unsigned char value, size_t n, void *stream))                                  \
    D(cu_set_16, "cuMemsetD16", "cuMemsetD16_v2", 3020, 0,                                         \
      (uint64_t at, unsigned short value, size_t n))                                               \
    D(cu_set_16_ptds, "cuMemsetD16", "cuMemsetD16_v2_ptds", 7000, 0,                               \
      (uint64_t at, unsigned short value, size_t n))                                               \
    D(cu_set_16_async, "cuMemsetD16Async", "cuMemsetD16Async", 3020, 0,                            \
      (uint64_t at, unsigned short value, size_t n, void *stream))                                 \
    D(cu_set_16_async_ptsz, "cuMemsetD16Async", "cuMemsetD16Async_ptsz", 7000, 0,                  \
      (uint64_t at, unsigned short value, size_t n, void *stream))                                 \
    D(cu_set_32, "cuMemsetD32", "cuMemsetD32_v2", 3020, 0,                                         \
      (uint64_t at, unsigned value, size_t n))                                                     \
    D(cu_set_32_ptds, "cuMemsetD32", "cuMemsetD32_v2_ptds", 7000, 0,                               \
      (uint64_t at, unsigned value, size_t n))                                                     \
    D(cu_set_32_async, "cuMemsetD32Async", "cuMemsetD32Async", 3020, 0,                            \
      (uint64_t at, unsigned value, size_t n, void *stream))                                       \
    D(cu_set_32_async_ptsz, "cuMemsetD32Async", "cuMemsetD32Async_ptsz", 7000, 0,                  \
      (uint64_t at, unsigned value, size_t n, void *stream))                                       \
    D(cu_set_2d_8, "cuMemsetD2D8", "cuMemsetD2D8_v2", 3020, 0,                                     \
      (uint64_t at, size_t pitch, unsigned char value, size_t width, size_t height))               \
    D(cu_set_2d_8_ptds, "cuMemsetD2D8", "cuMemsetD2D8_v2_ptds", 7000, 0,                           \
      (uint64_t at, size_t pitch, unsigned char value, size_t width, size_t height))               \
    D(cu_set_2d_8_async, "cuMemsetD2D8Async", "cuMemsetD2D8Async", 3020, 0,                        \
      (uint64_t at, size_t pitch, unsigned char value, size_t width, size_t height, void *stream)) \
    D(cu_set_2d_8_async_ptsz, "cuMemsetD2D8Async", "cuMemsetD2D8Async_ptsz", 7000, 0,              \
      (uint64_t at, size_t pitch, unsigned char value, size_t width, size_t height, void *stream)) \
    D(cu_set_2d_16, "cuMemsetD2D16", "cuMemsetD2D16_v2", 3020, 0,                                  \
      (uint64_t at, size_t pitch, unsigned short value, size_t width, size_t height))              \
    D(cu_set_2d_16_ptds, "cuMemsetD2D16", "cuMemsetD2D16_v2_ptds", 7000, 0,                        \
      (uint64_t at, size_t pitch, unsigned short value, size_t width, size_t height))              \
    D(cu_set_2d_16_async, "cuMemsetD2D16Async", "cuMemsetD2D16Async", 3020, 0,                     \
      (uint64_t at, size_t pitch, unsigned short value, size_t width, size_t height,               \
       void *stream))                                                                              \
    D(cu_set_2d_16_async_ptsz, "cuMemsetD2D16Async", "cuMemsetD2D16Async_ptsz", 7000, 0,           \
      (uint64_t at, size_t pitch, unsigned short value, size_t width, size_t height,               \
       void *stream))                                                                              \
    D(cu_set_2d_32, "cuMemsetD2D32", "cuMemsetD2D32_v2", 3020, 0,                                  \
      (uint64_t at, size_t pitch, unsigned value, size_t width, size_t height))                    \
    D(cu_set_2d_32_ptds, "cuMemsetD2D32", "cuMemsetD2D32_v2_ptds", 7000, 0,                        \
      (uint64_t at, size_t pitch, unsigned value, size_t width, size_t height))                    \
    D(cu_set_2d_32_async, "cuMemsetD2D32Async", "cuMemsetD2D32Async", 3020, 0,                     \
      (uint64_t at, size_t pitch, unsigned value, size_t width, size_t height, void *stream))      \
    D(cu_set_2d_32_async_ptsz, "cuMemsetD2D32Async", "cuMemsetD2D32Async_ptsz", 7000, 0,           \
      (uint64_t at, size_t pitch, unsigned value, size_t width, size_t height, void *stream))
/* clang-format on */

#endif
