/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks of launches. Exceptions do not pass through here. */
#include "driver.h"
#include "preload/uses/uses.h"

#define SHAPE x, y, z, block_x, block_y, block_z, shared

static inline void note(void *function, void **parameters, void **extra, const unsigned grid[3])
{
    if (mt_uses_are_on())
        mt_uses_launch(function, parameters, extra, grid);
}

/* Pass on a call that adds a node to a graph. */
#define ADD(name, ...)                                                                             \
    ({                                                                                             \
        if (mt_uses_are_on())                                                                      \
            mt_uses_graph_made();                                                                  \
        MT_DRIVER_REAL(name) ? MT_DRIVER_NOW(name)(__VA_ARGS__) : MT_CUDA_NO_FUNCTION;             \
    })
#define ADD_NODE(name)                                                                             \
    unsigned mt_hook_##name(void **node, void *graph, const void *before, size_t n,                \
                            const void *what)                                                      \
    {                                                                                              \
        return ADD(name, node, graph, before, n, what);                                            \
    }
ADD_NODE(cu_graph_kernel_10)
ADD_NODE(cu_graph_kernel)
ADD_NODE(cu_graph_node_12)

unsigned mt_hook_cu_graph_node(void **node, void *graph, const void *before, const void *edges,
                               size_t n, const void *what)
{
    return ADD(cu_graph_node, node, graph, before, edges, n, what);
}

#define LAUNCH(name)                                                                               \
    unsigned mt_hook_##name(void *function, MT_SHAPE, void *stream, void **parameters,             \
                            void **extra)                                                          \
    {                                                                                              \
        note(function, parameters, extra, (const unsigned[]){x, y, z});                            \
        return MT_DRIVER_REAL(name)                                                                \
                   ? MT_DRIVER_NOW(name)(function, SHAPE, stream, parameters, extra)               \
                   : MT_CUDA_NO_FUNCTION;                                                          \
    }
LAUNCH(cu_launch)
LAUNCH(cu_launch_ptsz)

#define LAUNCH_EX(name)                                                                            \
    unsigned mt_hook_##name(const void *shape, void *function, void **parameters, void **extra)    \
    {                                                                                              \
        note(function, parameters, extra, shape); /* which begins with the grid */                 \
        return MT_DRIVER_REAL(name) ? MT_DRIVER_NOW(name)(shape, function, parameters, extra)      \
                                    : MT_CUDA_NO_FUNCTION;                                         \
    }
LAUNCH_EX(cu_launch_ex)
LAUNCH_EX(cu_launch_ex_ptsz)

#define LAUNCH_COOPERATIVE(name)                                                                   \
    unsigned mt_hook_##name(void *function, MT_SHAPE, void *stream, void **parameters)             \
    {                                                                                              \
        note(function, parameters, NULL, (const unsigned[]){x, y, z});                             \
        return MT_DRIVER_REAL(name) ? MT_DRIVER_NOW(name)(function, SHAPE, stream, parameters)     \
                                    : MT_CUDA_NO_FUNCTION;                                         \
    }
LAUNCH_COOPERATIVE(cu_launch_cooperative)
LAUNCH_COOPERATIVE(cu_launch_cooperative_ptsz)
