/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks of runtime and driver calls that copy or set memory, in rows like those of
 * hooks-memory.h. */
#ifndef MT_PRELOAD_HOOKS_COPIES_H
#define MT_PRELOAD_HOOKS_COPIES_H

/* clang-format off */
/* R(X, name, suffix, symbol, symbol of the second form, parameters, arguments, record)
 * R1(X, name, symbol, parameters, arguments, record): a call without a second form */
#define MT_CUDART_COPIES(R, R1, X)                                                                 \
    R(X, cuda_copy, ptds, "cudaMemcpy", "cudaMemcpy_ptds",                                         \
      (void *to, const void *from, size_t size, unsigned kind),                                    \
      (to, from, size, kind), COPIED(CUDA_COPY, to, from, size))                                   \
    R(X, cuda_copy_async, ptsz, "cudaMemcpyAsync", "cudaMemcpyAsync_ptsz",                         \
      (void *to, const void *from, size_t size, unsigned kind, void *stream),                      \
      (to, from, size, kind, stream), COPIED(CUDA_COPY_ASYNC, to, from, size))                     \
    R(X, cuda_copy_2d, ptds, "cudaMemcpy2D", "cudaMemcpy2D_ptds",                                  \
      (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,               \
       size_t height, unsigned kind),                                                              \
      (to, to_pitch, from, from_pitch, width, height, kind),                                       \
      COPIED(CUDA_COPY_2D, to, from, width * height))                                              \
    R(X, cuda_copy_2d_async, ptsz, "cudaMemcpy2DAsync", "cudaMemcpy2DAsync_ptsz",                  \
      (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,               \
       size_t height, unsigned kind, void *stream),                                                \
      (to, to_pitch, from, from_pitch, width, height, kind, stream),                               \
      COPIED(CUDA_COPY_2D_ASYNC, to, from, width * height))                                        \
    R(X, cuda_copy_3d, ptds, "cudaMemcpy3D", "cudaMemcpy3D_ptds",                                  \
      (const struct mt_box_copy *copy), (copy), COPIED_BOX(CUDA_COPY_3D))                          \
    R(X, cuda_copy_3d_async, ptsz, "cudaMemcpy3DAsync", "cudaMemcpy3DAsync_ptsz",                  \
      (const struct mt_box_copy *copy, void *stream),                                              \
      (copy, stream), COPIED_BOX(CUDA_COPY_3D_ASYNC))                                              \
    R1(X, cuda_copy_peer, "cudaMemcpyPeer",                                                        \
      (void *to, int to_device, const void *from, int from_device, size_t size),                   \
      (to, to_device, from, from_device, size), COPIED(CUDA_COPY_PEER, to, from, size))            \
    R1(X, cuda_copy_peer_async, "cudaMemcpyPeerAsync",                                             \
      (void *to, int to_device, const void *from, int from_device, size_t size, void *stream),     \
      (to, to_device, from, from_device, size, stream),                                            \
      COPIED(CUDA_COPY_PEER_ASYNC, to, from, size))                                                \
    R(X, cuda_set, ptds, "cudaMemset", "cudaMemset_ptds",                                          \
      (void *at, int value, size_t size), (at, value, size), WAS_SET(CUDA_SET, at, size))          \
    R(X, cuda_set_async, ptsz, "cudaMemsetAsync", "cudaMemsetAsync_ptsz",                          \
      (void *at, int value, size_t size, void *stream),                                            \
      (at, value, size, stream), WAS_SET(CUDA_SET_ASYNC, at, size))                                \
    R(X, cuda_set_2d, ptds, "cudaMemset2D", "cudaMemset2D_ptds",                                   \
      (void *at, size_t pitch, int value, size_t width, size_t height),                            \
      (at, pitch, value, width, height), WAS_SET(CUDA_SET_2D, at, width * height))                 \
    R(X, cuda_set_2d_async, ptsz, "cudaMemset2DAsync", "cudaMemset2DAsync_ptsz",                   \
      (void *at, size_t pitch, int value, size_t width, size_t height, void *stream),              \
      (at, pitch, value, width, height, stream), WAS_SET(CUDA_SET_2D_ASYNC, at, width * height))   \
    R(X, cuda_set_3d, ptds, "cudaMemset3D", "cudaMemset3D_ptds",                                   \
      (struct mt_pitched at, int value, struct mt_extent extent),                                  \
      (at, value, extent), WAS_SET_BOX(CUDA_SET_3D))                                               \
    R(X, cuda_set_3d_async, ptsz, "cudaMemset3DAsync", "cudaMemset3DAsync_ptsz",                   \
      (struct mt_pitched at, int value, struct mt_extent extent, void *stream),                    \
      (at, value, extent, stream), WAS_SET_BOX(CUDA_SET_3D_ASYNC))

/* R(X, name, base, symbol, symbol of the second form, since, parameters, arguments, record), and the
 * same call in the order of a stream, whose name ends in _async and whose last parameter is the
 * stream: A(X, name, base, symbol, symbol of the second form, since, parameters without the stream,
 * arguments without it, record). base, since: hooks-cuda.h; a second form is of CUDA 7. */
#define MT_DRIVER_COPIES(R, A, X)                                                                  \
    R(X, cu_copy, "cuMemcpy", "cuMemcpy", "cuMemcpy_ptds", 4000,                                   \
      (uint64_t to, uint64_t from, size_t size), (to, from, size),                                 \
      COPIED(CU_COPY, to, from, size))                                                             \
    A(X, cu_copy, "cuMemcpyAsync", "cuMemcpyAsync", "cuMemcpyAsync_ptsz", 4000,                    \
      (uint64_t to, uint64_t from, size_t size), (to, from, size),                                 \
      COPIED(CU_COPY_ASYNC, to, from, size))                                                       \
    R(X, cu_copy_in, "cuMemcpyHtoD", "cuMemcpyHtoD_v2", "cuMemcpyHtoD_v2_ptds", 3020,              \
      (uint64_t to, const void *from, size_t size), (to, from, size),                              \
      COPIED(CU_COPY_IN, to, from, size))                                                          \
    A(X, cu_copy_in, "cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync_v2_ptsz", 3020,\
      (uint64_t to, const void *from, size_t size), (to, from, size),                              \
      COPIED(CU_COPY_IN_ASYNC, to, from, size))                                                    \
    R(X, cu_copy_out, "cuMemcpyDtoH", "cuMemcpyDtoH_v2", "cuMemcpyDtoH_v2_ptds", 3020,             \
      (void *to, uint64_t from, size_t size), (to, from, size),                                    \
      COPIED(CU_COPY_OUT, to, from, size))                                                         \
    A(X, cu_copy_out, "cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoHAsync_v2_ptsz", 3020,\
      (void *to, uint64_t from, size_t size), (to, from, size),                                    \
      COPIED(CU_COPY_OUT_ASYNC, to, from, size))                                                   \
    R(X, cu_copy_within, "cuMemcpyDtoD", "cuMemcpyDtoD_v2", "cuMemcpyDtoD_v2_ptds", 3020,          \
      (uint64_t to, uint64_t from, size_t size), (to, from, size),                                 \
      COPIED(CU_COPY_WITHIN, to, from, size))                                                      \
    A(X, cu_copy_within, "cuMemcpyDtoDAsync", "cuMemcpyDtoDAsync_v2", "cuMemcpyDtoDAsync_v2_ptsz", \
      3020, (uint64_t to, uint64_t from, size_t size), (to, from, size),                           \
      COPIED(CU_COPY_WITHIN_ASYNC, to, from, size))                                                \
    R(X, cu_copy_peer, "cuMemcpyPeer", "cuMemcpyPeer", "cuMemcpyPeer_ptds", 4000,                  \
      (uint64_t to, void *to_context, uint64_t from, void *from_context, size_t size),             \
      (to, to_context, from, from_context, size), COPIED(CU_COPY_PEER, to, from, size))            \
    A(X, cu_copy_peer, "cuMemcpyPeerAsync", "cuMemcpyPeerAsync", "cuMemcpyPeerAsync_ptsz", 4000,   \
      (uint64_t to, void *to_context, uint64_t from, void *from_context, size_t size),             \
      (to, to_context, from, from_context, size), COPIED(CU_COPY_PEER_ASYNC, to, from, size))      \
    R(X, cu_copy_2d, "cuMemcpy2D", "cuMemcpy2D_v2", "cuMemcpy2D_v2_ptds", 3020,                    \
      (const struct mt_flat_copy *copy), (copy), COPIED_FLAT(CU_COPY_2D))                          \
    A(X, cu_copy_2d, "cuMemcpy2DAsync", "cuMemcpy2DAsync_v2", "cuMemcpy2DAsync_v2_ptsz", 3020,     \
      (const struct mt_flat_copy *copy), (copy), COPIED_FLAT(CU_COPY_2D_ASYNC))                    \
    R(X, cu_copy_2d_unaligned, "cuMemcpy2DUnaligned", "cuMemcpy2DUnaligned_v2",                    \
      "cuMemcpy2DUnaligned_v2_ptds", 3020, (const struct mt_flat_copy *copy), (copy),              \
      COPIED_FLAT(CU_COPY_2D_UNALIGNED))                                                           \
    R(X, cu_copy_3d, "cuMemcpy3D", "cuMemcpy3D_v2", "cuMemcpy3D_v2_ptds", 3020,                    \
      (const struct mt_deep_copy *copy), (copy), COPIED_DEEP(CU_COPY_3D))                          \
    A(X, cu_copy_3d, "cuMemcpy3DAsync", "cuMemcpy3DAsync_v2", "cuMemcpy3DAsync_v2_ptsz", 3020,     \
      (const struct mt_deep_copy *copy), (copy), COPIED_DEEP(CU_COPY_3D_ASYNC))                    \
    R(X, cu_set_8, "cuMemsetD8", "cuMemsetD8_v2", "cuMemsetD8_v2_ptds", 3020,                      \
      (uint64_t at, unsigned char value, size_t n), (at, value, n),                                \
      WAS_SET(CU_SET_8, at, n * sizeof value))                                                     \
    A(X, cu_set_8, "cuMemsetD8Async", "cuMemsetD8Async", "cuMemsetD8Async_ptsz", 3020,             \
      (uint64_t at, unsigned char value, size_t n), (at, value, n),                                \
      WAS_SET(CU_SET_8_ASYNC, at, n * sizeof value))                                               \
    R(X, cu_set_16, "cuMemsetD16", "cuMemsetD16_v2", "cuMemsetD16_v2_ptds", 3020,                  \
      (uint64_t at, unsigned short value, size_t n), (at, value, n),                               \
      WAS_SET(CU_SET_16, at, n * sizeof value))                                                    \
    A(X, cu_set_16, "cuMemsetD16Async", "cuMemsetD16Async", "cuMemsetD16Async_ptsz", 3020,         \
      (uint64_t at, unsigned short value, size_t n), (at, value, n),                               \
      WAS_SET(CU_SET_16_ASYNC, at, n * sizeof value))                                              \
    R(X, cu_set_32, "cuMemsetD32", "cuMemsetD32_v2", "cuMemsetD32_v2_ptds", 3020,                  \
      (uint64_t at, unsigned value, size_t n), (at, value, n),                                     \
      WAS_SET(CU_SET_32, at, n * sizeof value))                                                    \
    A(X, cu_set_32, "cuMemsetD32Async", "cuMemsetD32Async", "cuMemsetD32Async_ptsz", 3020,         \
      (uint64_t at, unsigned value, size_t n), (at, value, n),                                     \
      WAS_SET(CU_SET_32_ASYNC, at, n * sizeof value))                                              \
    R(X, cu_set_2d_8, "cuMemsetD2D8", "cuMemsetD2D8_v2", "cuMemsetD2D8_v2_ptds", 3020,             \
      (uint64_t at, size_t pitch, unsigned char value, size_t width, size_t height),               \
      (at, pitch, value, width, height), WAS_SET(CU_SET_2D_8, at, width * height * sizeof value))  \
    A(X, cu_set_2d_8, "cuMemsetD2D8Async", "cuMemsetD2D8Async", "cuMemsetD2D8Async_ptsz", 3020,    \
      (uint64_t at, size_t pitch, unsigned char value, size_t width, size_t height),               \
      (at, pitch, value, width, height),                                                           \
      WAS_SET(CU_SET_2D_8_ASYNC, at, width * height * sizeof value))                               \
    R(X, cu_set_2d_16, "cuMemsetD2D16", "cuMemsetD2D16_v2", "cuMemsetD2D16_v2_ptds", 3020,         \
      (uint64_t at, size_t pitch, unsigned short value, size_t width, size_t height),              \
      (at, pitch, value, width, height), WAS_SET(CU_SET_2D_16, at, width * height * sizeof value)) \
    A(X, cu_set_2d_16, "cuMemsetD2D16Async", "cuMemsetD2D16Async", "cuMemsetD2D16Async_ptsz", 3020,\
      (uint64_t at, size_t pitch, unsigned short value, size_t width, size_t height),              \
      (at, pitch, value, width, height),                                                           \
      WAS_SET(CU_SET_2D_16_ASYNC, at, width * height * sizeof value))                              \
    R(X, cu_set_2d_32, "cuMemsetD2D32", "cuMemsetD2D32_v2", "cuMemsetD2D32_v2_ptds", 3020,         \
      (uint64_t at, size_t pitch, unsigned value, size_t width, size_t height),                    \
      (at, pitch, value, width, height), WAS_SET(CU_SET_2D_32, at, width * height * sizeof value)) \
    A(X, cu_set_2d_32, "cuMemsetD2D32Async", "cuMemsetD2D32Async", "cuMemsetD2D32Async_ptsz", 3020,\
      (uint64_t at, size_t pitch, unsigned value, size_t width, size_t height),                    \
      (at, pitch, value, width, height),                                                           \
      WAS_SET(CU_SET_2D_32_ASYNC, at, width * height * sizeof value))
/* clang-format on */

#endif
