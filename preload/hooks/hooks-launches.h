/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's kernel launches, which every launch by the runtime or a library goes through, and
 * the calls that build graphs node by node. Lookups get these hooks only if uses are recorded
 * (preload/uses/uses.h). */
#ifndef MT_PRELOAD_HOOKS_LAUNCHES_H
#define MT_PRELOAD_HOOKS_LAUNCHES_H

/* The dimensions of a launch: grid, blocks, and shared memory. */
#define MT_SHAPE                                                                                   \
    unsigned x, unsigned y, unsigned z, unsigned block_x, unsigned block_y, unsigned block_z,      \
        unsigned shared

/* clang-format off */
#define MT_DRIVER_LAUNCHES(D)                                                                      \
    D(cu_graph_kernel_10, "cuGraphAddKernelNode", "cuGraphAddKernelNode", 10000, 12000,            \
      (void **node, void *graph, const void *before, size_t n, const void *what))                  \
    D(cu_graph_kernel, "cuGraphAddKernelNode", "cuGraphAddKernelNode_v2", 12000, 0,                \
      (void **node, void *graph, const void *before, size_t n, const void *what))                  \
    D(cu_graph_node_12, "cuGraphAddNode", "cuGraphAddNode", 12020, 12030,                          \
      (void **node, void *graph, const void *before, size_t n, const void *what))                  \
    D(cu_graph_node, "cuGraphAddNode", "cuGraphAddNode_v2", 12030, 0,                              \
      (void **node, void *graph, const void *before, const void *edges, size_t n, const void *what))\
    D(cu_launch, "cuLaunchKernel", "cuLaunchKernel", 4000, 0,                                      \
      (void *function, MT_SHAPE, void *stream, void **parameters, void **extra))                   \
    D(cu_launch_ptsz, "cuLaunchKernel", "cuLaunchKernel_ptsz", 7000, 0,                            \
      (void *function, MT_SHAPE, void *stream, void **parameters, void **extra))                   \
    D(cu_launch_ex, "cuLaunchKernelEx", "cuLaunchKernelEx", 11060, 0,                              \
      (const void *shape, void *function, void **parameters, void **extra))                        \
    D(cu_launch_ex_ptsz, "cuLaunchKernelEx", "cuLaunchKernelEx_ptsz", 11060, 0,                    \
      (const void *shape, void *function, void **parameters, void **extra))                        \
    D(cu_launch_cooperative, "cuLaunchCooperativeKernel", "cuLaunchCooperativeKernel", 9000, 0,    \
      (void *function, MT_SHAPE, void *stream, void **parameters))                                 \
    D(cu_launch_cooperative_ptsz, "cuLaunchCooperativeKernel", "cuLaunchCooperativeKernel_ptsz",   \
      9000, 0, (void *function, MT_SHAPE, void *stream, void **parameters))
/* clang-format on */

#endif
