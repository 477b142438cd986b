/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workspaces that PyTorch allocates for libraries: calls from PyTorch's libraries to CUDA's pass
 * the address. cuBLAS gets it at each operation, so a workspace is recorded once until its block is
 * freed.
 */
#include "hooks-math.h"
#include "preload/hooks/hooks.h"
#include "preload/loader/find-real.h"
#include "preload/record/recorder.h"

_Atomic uint64_t mt_known_workspaces[MT_KNOWN_WORKSPACES];

MT_MATH_HOOKS(MT_REAL_OF_ONE_RELEASE)

static void record_workspace(const void *workspace, size_t size)
{
    uint64_t address = (uint64_t)(uintptr_t)workspace;
    _Atomic uint64_t *known = mt_known_workspace(address);
    if (!address || atomic_load_explicit(known, memory_order_relaxed) == address)
        return;
    struct mt_thread *self = mt_enter();
    if (!self)
        return;
    mt_record(self, MT_WORKSPACE, MT_NO_DEVICE, 0, MT_ARGS(address, size));
    atomic_store_explicit(known, address, memory_order_relaxed);
    mt_leave(self);
}

int mt_hook_cublas_workspace(void *handle, void *workspace, size_t size)
{
    record_workspace(workspace, size);
    return real_cublas_workspace()(handle, workspace, size);
}

int mt_hook_cublaslt_matmul(void *handle, void *operation, const void *alpha, const void *a,
                            void *layout_a, const void *b, void *layout_b, const void *beta,
                            const void *c, void *layout_c, void *d, void *layout_d,
                            const void *algorithm, void *workspace, size_t size, void *stream)
{
    record_workspace(workspace, size);
    return real_cublaslt_matmul()(handle, operation, alpha, a, layout_a, b, layout_b, beta, c,
                                  layout_c, d, layout_d, algorithm, workspace, size, stream);
}

/* Note a workspace: cuDNN's graphs have it as an attribute of their execution. */
int mt_hook_cudnn_attribute(void *descriptor, int name, int type, int64_t count, const void *values)
{
    enum { WORKSPACE_OF_VARIANT_PACK = 1003 };
    if (name == WORKSPACE_OF_VARIANT_PACK && count == 1 && values)
        record_workspace(*(void *const *)values, 0);
    return real_cudnn_attribute()(descriptor, name, type, count, values);
}
