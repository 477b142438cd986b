/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuBLAS has two modes that programs set, read back and restore. They belong to the handle.
 * Programs use one handle per thread, so here they belong to the thread.
 */
#include "core/device/device.h"
#include "own-memory.h"

enum { SUCCESS = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 3, INVALID_VALUE = 7 };

static _Thread_local struct {
    int math, pointer;
} modes __attribute__((tls_model("initial-exec")));

int cublasSetMathMode(void *handle, int mode)
{
    (void)handle;
    modes.math = mode;
    return 0;
}

int cublasGetMathMode(void *handle, int *mode)
{
    (void)handle;
    *mode = modes.math;
    return 0;
}

int cublasSetPointerMode_v2(void *handle, int mode)
{
    (void)handle;
    modes.pointer = mode;
    return 0;
}

int cublasGetPointerMode_v2(void *handle, int *mode)
{
    (void)handle;
    *mode = modes.pointer;
    return 0;
}

/* Create a handle. It keeps its own workspace even if a program sets another one later. */
int cublasCreate_v2(void **handle)
{
    enum { STREAM_CAPTURES = 900 };
    if (!handle)
        return INVALID_VALUE;
    if (sim_enter())
        return NOT_INITIALIZED;
    struct own_memory own = own_memory_of_blas();
    int result = own_memory_take(&own, handle);
    return !result ? SUCCESS : result == STREAM_CAPTURES ? NOT_INITIALIZED : ALLOC_FAILED;
}

int cublasDestroy_v2(void *handle)
{
    own_memory_give(handle);
    return SUCCESS;
}
