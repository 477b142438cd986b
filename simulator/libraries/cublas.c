/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuBLAS keeps two modes that programs set, read back and restore. They belong to the handle.
 * Programs use one handle a thread, so here they belong to the thread.
 */

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
