/* SPDX-License-Identifier: Apache-2.0 */
/* A library that asks CUDA's driver for memory of its own, as cuBLAS does; and the program, which
 * asks for its own by the same call. */
#include <cuda.h>

int take(size_t size);

#ifdef LIBRARY
int take(size_t size)
{
    CUdeviceptr address;
    return (int)cuMemAlloc(&address, size);
}
#else
int main(void)
{
    CUcontext context;
    CUdeviceptr address;
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
        return 1;
    return take(5000) || cuMemAlloc(&address, 6000) || take(5000);
}
#endif
