/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that may use CUDA's memory in ways that are not recorded: rare copies, whose parameters
 * differ between versions, and graphs, whose copies are in their nodes. The trace notes that they
 * were called; the call is passed on unchanged. */
#ifndef MT_PRELOAD_HOOKS_NOTICED_H
#define MT_PRELOAD_HOOKS_NOTICED_H

#define MT_ANY void /* parameters that are not read */

/* clang-format off */
#define MT_NOTICED(H, name, symbol) H(name, symbol, "libcudart.so.13", unsigned, (MT_ANY))
#define MT_CUDART_NOTICED_HOOKS(H)                                                                 \
    MT_NOTICED(H, cuda_copy_to_array, "cudaMemcpyToArray")                                         \
    MT_NOTICED(H, cuda_copy_to_array_ptds, "cudaMemcpyToArray_ptds")                               \
    MT_NOTICED(H, cuda_copy_from_array, "cudaMemcpyFromArray")                                     \
    MT_NOTICED(H, cuda_copy_from_array_ptds, "cudaMemcpyFromArray_ptds")                           \
    MT_NOTICED(H, cuda_copy_to_array_async, "cudaMemcpyToArrayAsync")                              \
    MT_NOTICED(H, cuda_copy_to_array_async_ptsz, "cudaMemcpyToArrayAsync_ptsz")                    \
    MT_NOTICED(H, cuda_copy_from_array_async, "cudaMemcpyFromArrayAsync")                          \
    MT_NOTICED(H, cuda_copy_from_array_async_ptsz, "cudaMemcpyFromArrayAsync_ptsz")                \
    MT_NOTICED(H, cuda_copy_2d_to_array, "cudaMemcpy2DToArray")                                    \
    MT_NOTICED(H, cuda_copy_2d_to_array_ptds, "cudaMemcpy2DToArray_ptds")                          \
    MT_NOTICED(H, cuda_copy_2d_from_array, "cudaMemcpy2DFromArray")                                \
    MT_NOTICED(H, cuda_copy_2d_from_array_ptds, "cudaMemcpy2DFromArray_ptds")                      \
    MT_NOTICED(H, cuda_copy_2d_to_array_async, "cudaMemcpy2DToArrayAsync")                         \
    MT_NOTICED(H, cuda_copy_2d_to_array_async_ptsz, "cudaMemcpy2DToArrayAsync_ptsz")               \
    MT_NOTICED(H, cuda_copy_2d_from_array_async, "cudaMemcpy2DFromArrayAsync")                     \
    MT_NOTICED(H, cuda_copy_2d_from_array_async_ptsz, "cudaMemcpy2DFromArrayAsync_ptsz")           \
    MT_NOTICED(H, cuda_copy_to_symbol, "cudaMemcpyToSymbol")                                       \
    MT_NOTICED(H, cuda_copy_to_symbol_ptds, "cudaMemcpyToSymbol_ptds")                             \
    MT_NOTICED(H, cuda_copy_from_symbol, "cudaMemcpyFromSymbol")                                   \
    MT_NOTICED(H, cuda_copy_from_symbol_ptds, "cudaMemcpyFromSymbol_ptds")                         \
    MT_NOTICED(H, cuda_copy_to_symbol_async, "cudaMemcpyToSymbolAsync")                            \
    MT_NOTICED(H, cuda_copy_to_symbol_async_ptsz, "cudaMemcpyToSymbolAsync_ptsz")                  \
    MT_NOTICED(H, cuda_copy_from_symbol_async, "cudaMemcpyFromSymbolAsync")                        \
    MT_NOTICED(H, cuda_copy_from_symbol_async_ptsz, "cudaMemcpyFromSymbolAsync_ptsz")              \
    MT_NOTICED(H, cuda_copy_batch, "cudaMemcpyBatchAsync")                                         \
    MT_NOTICED(H, cuda_copy_batch_ptsz, "cudaMemcpyBatchAsync_ptsz")                               \
    MT_NOTICED(H, cuda_copy_3d_batch, "cudaMemcpy3DBatchAsync")                                    \
    MT_NOTICED(H, cuda_copy_3d_batch_ptsz, "cudaMemcpy3DBatchAsync_ptsz")                          \
    MT_NOTICED(H, cuda_copy_attributes, "cudaMemcpyWithAttributesAsync")                           \
    MT_NOTICED(H, cuda_copy_3d_attributes, "cudaMemcpy3DWithAttributesAsync")                      \
    MT_NOTICED(H, cuda_copy_3d_peer, "cudaMemcpy3DPeer")                                           \
    MT_NOTICED(H, cuda_copy_3d_peer_ptds, "cudaMemcpy3DPeer_ptds")                                 \
    MT_NOTICED(H, cuda_copy_3d_peer_async, "cudaMemcpy3DPeerAsync")                                \
    MT_NOTICED(H, cuda_copy_3d_peer_async_ptsz, "cudaMemcpy3DPeerAsync_ptsz")                      \
    MT_NOTICED(H, cuda_graph_launch, "cudaGraphLaunch")                                            \
    MT_NOTICED(H, cuda_graph_launch_ptsz, "cudaGraphLaunch_ptsz")
#define MT_DRIVER_NOTICED_HOOKS(D)                                                                 \
    D(cu_copy_to_array, "cuMemcpyDtoA", "cuMemcpyDtoA_v2", 3020, 0, (MT_ANY))                      \
    D(cu_copy_to_array_ptds, "cuMemcpyDtoA", "cuMemcpyDtoA_v2_ptds", 3020, 0, (MT_ANY))            \
    D(cu_copy_from_array, "cuMemcpyAtoD", "cuMemcpyAtoD_v2", 3020, 0, (MT_ANY))                    \
    D(cu_copy_from_array_ptds, "cuMemcpyAtoD", "cuMemcpyAtoD_v2_ptds", 3020, 0, (MT_ANY))          \
    D(cu_copy_batch_12, "cuMemcpyBatchAsync", "cuMemcpyBatchAsync", 12080, 13000, (MT_ANY))        \
    D(cu_copy_batch_12_ptsz, "cuMemcpyBatchAsync", "cuMemcpyBatchAsync_ptsz",                      \
      12080, 13000, (MT_ANY))                                                                      \
    D(cu_copy_batch, "cuMemcpyBatchAsync", "cuMemcpyBatchAsync_v2", 13000, 0, (MT_ANY))            \
    D(cu_copy_batch_ptsz, "cuMemcpyBatchAsync", "cuMemcpyBatchAsync_v2_ptsz", 13000, 0, (MT_ANY))  \
    D(cu_copy_3d_batch_12, "cuMemcpy3DBatchAsync", "cuMemcpy3DBatchAsync", 12080, 13000, (MT_ANY)) \
    D(cu_copy_3d_batch_12_ptsz, "cuMemcpy3DBatchAsync", "cuMemcpy3DBatchAsync_ptsz",               \
      12080, 13000, (MT_ANY))                                                                      \
    D(cu_copy_3d_batch, "cuMemcpy3DBatchAsync", "cuMemcpy3DBatchAsync_v2", 13000, 0, (MT_ANY))     \
    D(cu_copy_3d_batch_ptsz, "cuMemcpy3DBatchAsync", "cuMemcpy3DBatchAsync_v2_ptsz",               \
      13000, 0, (MT_ANY))                                                                          \
    D(cu_copy_attributes, "cuMemcpyWithAttributesAsync", "cuMemcpyWithAttributesAsync",            \
      13020, 0, (MT_ANY))                                                                          \
    D(cu_copy_3d_attributes, "cuMemcpy3DWithAttributesAsync", "cuMemcpy3DWithAttributesAsync",     \
      13020, 0, (MT_ANY))                                                                          \
    D(cu_copy_3d_peer, "cuMemcpy3DPeer", "cuMemcpy3DPeer", 4000, 0, (MT_ANY))                      \
    D(cu_copy_3d_peer_ptds, "cuMemcpy3DPeer", "cuMemcpy3DPeer_ptds", 4000, 0, (MT_ANY))            \
    D(cu_copy_3d_peer_async, "cuMemcpy3DPeerAsync", "cuMemcpy3DPeerAsync", 4000, 0, (MT_ANY))      \
    D(cu_copy_3d_peer_async_ptsz, "cuMemcpy3DPeerAsync", "cuMemcpy3DPeerAsync_ptsz",               \
      4000, 0, (MT_ANY))                                                                           \
    D(cu_graph_launch, "cuGraphLaunch", "cuGraphLaunch", 10000, 0, (MT_ANY))                       \
    D(cu_graph_launch_ptsz, "cuGraphLaunch", "cuGraphLaunch_ptsz", 10000, 0, (MT_ANY))
/* clang-format on */

#endif
