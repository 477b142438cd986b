/* SPDX-License-Identifier: Apache-2.0 */
/* A library that asks CUDA's driver for memory of its own, as cuBLAS does; and the program, which
 * asks for its own by the same call. With an argument the library ends what the program makes. */
#include <cuda.h>

#define SIZE ((size_t)2 << 20)

int take(size_t size);
int end_one(CUstream stream, CUdeviceptr place);

#ifdef LIBRARY
int take(size_t size)
{
    CUdeviceptr address;
    return (int)cuMemAlloc(&address, size);
}

int end_one(CUstream stream, CUdeviceptr place)
{
    return (stream ? cuStreamDestroy(stream) : cuMemUnmap(place, SIZE)) != CUDA_SUCCESS;
}
#else
/* Each end by another caller than the call before it. */
static int make_and_end(void)
{
    CUstream first, second;
    CUdeviceptr place;
    CUmemGenericAllocationHandle memory;
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location.type = CU_MEM_LOCATION_TYPE_DEVICE};
    return cuMemAddressReserve(&place, SIZE, 0, 0, 0) ||
           cuMemCreate(&memory, SIZE, &properties, 0) || cuMemMap(place, SIZE, 0, memory, 0) ||
           cuStreamCreate(&first, 0) || end_one(first, 0) || cuStreamCreate(&second, 0) ||
           end_one(NULL, place) || cuStreamDestroy(second);
}

int main(int argc, char **argv)
{
    CUcontext context;
    CUdeviceptr address;
    (void)argv;
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
        return 1;
    if (argc > 1)
        return make_and_end();
    return take(5000) || cuMemAlloc(&address, 6000) || take(5000);
}
#endif
