/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda-calls ROUTE: makes every call of the CUDA runtime and driver that gives or takes memory, and
 * prints for each the record that a trace is to have: "record api size". A call that fails is
 * printed as such.
 */
#include "routes.h"

#include <elf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void runtime_memory(void)
{
    void *a;
    size_t pitch;
    expect("cuda_malloc", "cudaMalloc", MIB, (int)cudaMalloc(&a, MIB));
    expect("cuda_free", "cudaFree", 0, (int)cudaFree(a));
    expect("cuda_malloc", "cudaMallocManaged", 2 * MIB,
           (int)cudaMallocManaged(&a, 2 * MIB, cudaMemAttachGlobal));
    expect("cuda_free", "cudaFree", 0, (int)cudaFree(a));
    int result = (int)cudaMallocPitch(&a, &pitch, 1000, 30);
    expect("cuda_malloc", "cudaMallocPitch", pitch * 30, result);
    expect("cuda_free", "cudaFree", 0, (int)cudaFree(a));
    struct cudaPitchedPtr box;
    result = (int)cudaMalloc3D(&box, (struct cudaExtent){1000, 20, 3});
    expect("cuda_malloc", "cudaMalloc3D", box.pitch * 60, result);
    expect("cuda_free", "cudaFree", 0, (int)cudaFree(box.ptr));
    expect("cuda_malloc", "cudaMalloc", (size_t)1 << 60, cudaMalloc(&a, (size_t)1 << 60) ? 0 : 1);
}

static void runtime_arrays(void)
{
    struct cudaChannelFormatDesc texel = {32, 32, 0, 0, cudaChannelFormatKindFloat};
    cudaArray_t array;
    cudaMipmappedArray_t mipmapped;
    expect("cuda_malloc", "cudaMallocArray", 64 * 32 * 8,
           (int)cudaMallocArray(&array, &texel, 64, 32, 0));
    expect("cuda_free", "cudaFreeArray", 0, (int)cudaFreeArray(array));
    expect("cuda_malloc", "cudaMalloc3DArray", 64 * 32 * 4 * 8,
           (int)cudaMalloc3DArray(&array, &texel, (struct cudaExtent){64, 32, 4}, 0));
    expect("cuda_free", "cudaFreeArray", 0, (int)cudaFreeArray(array));
    expect("cuda_malloc", "cudaMallocMipmappedArray", (64 * 32 + 32 * 16) * 8,
           (int)cudaMallocMipmappedArray(&mipmapped, &texel, (struct cudaExtent){64, 32, 0}, 2, 0));
    expect("cuda_free", "cudaFreeMipmappedArray", 0, (int)cudaFreeMipmappedArray(mipmapped));
}

static void runtime_host(void)
{
    static char own[1 << 16];
    void *a;
    expect("cuda_malloc", "cudaMallocHost", 3 * MIB, (int)cudaMallocHost(&a, 3 * MIB));
    expect("cuda_free", "cudaFreeHost", 0, (int)cudaFreeHost(a));
    expect("cuda_malloc", "cudaHostAlloc", 5000, (int)cudaHostAlloc(&a, 5000, 0));
    expect("cuda_free", "cudaFreeHost", 0, (int)cudaFreeHost(a));
    expect("cuda_malloc", "cudaHostRegister", sizeof own,
           (int)cudaHostRegister(own, sizeof own, cudaHostRegisterDefault));
    expect("cuda_free", "cudaHostUnregister", 0, (int)cudaHostUnregister(own));
}

static void runtime_async(void)
{
    cudaStream_t stream;
    cudaMemPool_t pool;
    void *a;
    expect("cuda_object", "cudaStreamCreate", 0, (int)cudaStreamCreate(&stream));
    cudaDeviceGetDefaultMemPool(&pool, 0);
    expect("cuda_malloc_async", "cudaMallocAsync", 7000, (int)cudaMallocAsync(&a, 7000, stream));
    expect("cuda_free_async", "cudaFreeAsync", 0, (int)cudaFreeAsync(a, stream));
    expect("cuda_malloc_async", "cudaMallocFromPoolAsync", 8000,
           (int)cudaMallocFromPoolAsync(&a, 8000, pool, stream));
    expect("cuda_free_async", "cudaFreeAsync", 0, (int)cudaFreeAsync(a, stream));
    expect("cuda_object_gone", "cudaStreamDestroy", 0, (int)cudaStreamDestroy(stream));
    expect("cuda_object", "cudaStreamCreateWithFlags", 0,
           (int)cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    expect("cuda_object_gone", "cudaStreamDestroy", 0, (int)cudaStreamDestroy(stream));
    expect("cuda_object", "cudaStreamCreateWithPriority", 0,
           (int)cudaStreamCreateWithPriority(&stream, 0, -1));
    expect("cuda_object_gone", "cudaStreamDestroy", 0, (int)cudaStreamDestroy(stream));
}

static void driver_memory(void)
{
    CUdeviceptr a;
    size_t pitch;
    expect("cuda_malloc", "cuMemAlloc", 4 * MIB,
           (int)DRIVER("cuMemAlloc", cuMemAlloc)(&a, 4 * MIB));
    expect("cuda_free", "cuMemFree", 0, (int)DRIVER("cuMemFree", cuMemFree)(a));
    expect("cuda_malloc", "cuMemAllocManaged", MIB,
           (int)DRIVER("cuMemAllocManaged", cuMemAllocManaged)(&a, MIB, CU_MEM_ATTACH_GLOBAL));
    expect("cuda_free", "cuMemFree", 0, (int)DRIVER("cuMemFree", cuMemFree)(a));
    int result = (int)DRIVER("cuMemAllocPitch", cuMemAllocPitch)(&a, &pitch, 500, 10, 4);
    expect("cuda_malloc", "cuMemAllocPitch", pitch * 10, result);
    expect("cuda_free", "cuMemFree", 0, (int)DRIVER("cuMemFree", cuMemFree)(a));
    expect("cuda_malloc_async", "cuMemAllocAsync", 9000,
           (int)DRIVER("cuMemAllocAsync", cuMemAllocAsync)(&a, 9000, NULL));
    expect("cuda_free_async", "cuMemFreeAsync", 0,
           (int)DRIVER("cuMemFreeAsync", cuMemFreeAsync)(a, NULL));
}

static void driver_host(void)
{
    static char own[1 << 16];
    void *a;
    expect("cuda_malloc", "cuMemAllocHost", 6000,
           (int)DRIVER("cuMemAllocHost", cuMemAllocHost)(&a, 6000));
    expect("cuda_free", "cuMemFreeHost", 0, (int)DRIVER("cuMemFreeHost", cuMemFreeHost)(a));
    expect("cuda_malloc", "cuMemHostAlloc", 6001,
           (int)DRIVER("cuMemHostAlloc", cuMemHostAlloc)(&a, 6001, 0));
    expect("cuda_free", "cuMemFreeHost", 0, (int)DRIVER("cuMemFreeHost", cuMemFreeHost)(a));
    expect("cuda_malloc", "cuMemHostRegister", sizeof own,
           (int)DRIVER("cuMemHostRegister", cuMemHostRegister)(own, sizeof own, 0));
    expect("cuda_free", "cuMemHostUnregister", 0,
           (int)DRIVER("cuMemHostUnregister", cuMemHostUnregister)(own));
}

static void driver_arrays(void)
{
    CUarray array;
    CUmipmappedArray mipmapped;
    CUDA_ARRAY_DESCRIPTOR flat = {
        .Width = 16, .Height = 8, .Format = CU_AD_FORMAT_HALF, .NumChannels = 4};
    CUDA_ARRAY3D_DESCRIPTOR deep = {.Width = 16,
                                    .Height = 8,
                                    .Depth = 4,
                                    .Format = CU_AD_FORMAT_UNSIGNED_INT8,
                                    .NumChannels = 2};
    expect("cuda_malloc", "cuArrayCreate", 16 * 8 * 8,
           (int)DRIVER("cuArrayCreate", cuArrayCreate)(&array, &flat));
    expect("cuda_free", "cuArrayDestroy", 0, (int)DRIVER("cuArrayDestroy", cuArrayDestroy)(array));
    expect("cuda_malloc", "cuArray3DCreate", 16 * 8 * 4 * 2,
           (int)DRIVER("cuArray3DCreate", cuArray3DCreate)(&array, &deep));
    expect("cuda_free", "cuArrayDestroy", 0, (int)DRIVER("cuArrayDestroy", cuArrayDestroy)(array));
    expect("cuda_malloc", "cuMipmappedArrayCreate", (16 * 8 * 4 + 8 * 4 * 2) * 2,
           (int)DRIVER("cuMipmappedArrayCreate", cuMipmappedArrayCreate)(&mipmapped, &deep, 2));
    expect("cuda_free", "cuMipmappedArrayDestroy", 0,
           (int)DRIVER("cuMipmappedArrayDestroy", cuMipmappedArrayDestroy)(mipmapped));
}

static void driver_physical(void)
{
    CUmemGenericAllocationHandle handle, again;
    CUmemAllocationProp wanted = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location.type = CU_MEM_LOCATION_TYPE_DEVICE};
    CUdeviceptr at;
    cuMemAddressReserve(&at, 2 * MIB, 0, 0, 0);
    expect("cuda_malloc", "cuMemCreate", 2 * MIB,
           (int)DRIVER("cuMemCreate", cuMemCreate)(&handle, 2 * MIB, &wanted, 0));
    expect("cuda_map", "cuMemMap", 2 * MIB,
           (int)DRIVER("cuMemMap", cuMemMap)(at, 2 * MIB, 0, handle, 0));
    expect("cuda_malloc", "cuMemRetainAllocationHandle", 0,
           (int)DRIVER("cuMemRetainAllocationHandle",
                       cuMemRetainAllocationHandle)(&again, (void *)(uintptr_t)at));
    expect("cuda_free", "cuMemRelease", 0, (int)DRIVER("cuMemRelease", cuMemRelease)(again));
    expect("cuda_unmap", "cuMemUnmap", 2 * MIB, (int)DRIVER("cuMemUnmap", cuMemUnmap)(at, 2 * MIB));
    expect("cuda_free", "cuMemRelease", 0, (int)DRIVER("cuMemRelease", cuMemRelease)(handle));
    cuMemAddressFree(at, 2 * MIB);
}

/* What binds memory keeps it, as a mapping does; the object itself takes none. */
static void driver_multicast(void)
{
    CUmemGenericAllocationHandle object, handle;
    CUmulticastObjectProp wanted = {.numDevices = 1, .size = 4 * MIB};
    CUmemAllocationProp memory = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location.type = CU_MEM_LOCATION_TYPE_DEVICE};
    CUdeviceptr at;
    cuMemAddressReserve(&at, 2 * MIB, 0, 0, 0);
    expect("cuda_malloc", "cuMulticastCreate", 4 * MIB,
           (int)DRIVER("cuMulticastCreate", cuMulticastCreate)(&object, &wanted));
    cuMulticastAddDevice(object, 0);
    expect("cuda_malloc", "cuMemCreate", 2 * MIB,
           (int)DRIVER("cuMemCreate", cuMemCreate)(&handle, 2 * MIB, &memory, 0));
    expect("cuda_map", "cuMulticastBindMem", 2 * MIB,
           (int)DRIVER("cuMulticastBindMem", cuMulticastBindMem)(object, 0, handle, 0, 2 * MIB, 0));
    expect("cuda_map", "cuMemMap", 2 * MIB,
           (int)DRIVER("cuMemMap", cuMemMap)(at, 2 * MIB, 0, handle, 0));
    expect(
        "cuda_map", "cuMulticastBindAddr", 2 * MIB,
        (int)DRIVER("cuMulticastBindAddr", cuMulticastBindAddr)(object, 2 * MIB, at, 2 * MIB, 0));
    expect("cuda_unmap", "cuMemUnmap", 2 * MIB, (int)DRIVER("cuMemUnmap", cuMemUnmap)(at, 2 * MIB));
    expect("cuda_free", "cuMemRelease", 0, (int)DRIVER("cuMemRelease", cuMemRelease)(handle));
    for (size_t offset = 0; offset < 4 * MIB; offset += 2 * MIB)
        expect("cuda_unmap", "cuMulticastUnbind", 2 * MIB,
               (int)DRIVER("cuMulticastUnbind", cuMulticastUnbind)(object, 0, offset, 2 * MIB));
    expect("cuda_free", "cuMemRelease", 0, (int)DRIVER("cuMemRelease", cuMemRelease)(object));
    cuMemAddressFree(at, 2 * MIB);
}

/* Memory that comes from elsewhere is recorded, without a size: it is counted there. */
static void driver_imported(void)
{
    CUmemGenericAllocationHandle handle, imported;
    CUmemAllocationProp wanted = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location.type = CU_MEM_LOCATION_TYPE_DEVICE,
                                  .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
    int shared = -1;
    expect("cuda_malloc", "cuMemCreate", 4 * MIB,
           (int)DRIVER("cuMemCreate", cuMemCreate)(&handle, 4 * MIB, &wanted, 0));
    cuMemExportToShareableHandle(&shared, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    int result = (int)DRIVER("cuMemImportFromShareableHandle", cuMemImportFromShareableHandle)(
        &imported, (void *)(uintptr_t)shared, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    expect("cuda_malloc", "cuMemImportFromShareableHandle", 0, result);
    expect("cuda_free", "cuMemRelease", 0, (int)DRIVER("cuMemRelease", cuMemRelease)(imported));
    expect("cuda_free", "cuMemRelease", 0, (int)DRIVER("cuMemRelease", cuMemRelease)(handle));
    close(shared);
}

/* As compilers make them: a list of images, and what points to it in a program. */
static const struct {
    unsigned magic;
    unsigned short version, header_size;
    unsigned long long size;
    char images[5000];
} code = {0xba55ed50, 1, 16, 5000, ""};
static const struct {
    unsigned magic, version;
    const void *list;
} wrapper = {0x466243b1, 1, &code};
static const Elf64_Ehdr cubin = {
    .e_ident = ELFMAG, .e_shoff = 6000, .e_shnum = 2, .e_shentsize = 64};
static const char text[] = ".version 8.0";

static const char *write_code(void)
{
    static char path[32];
    strcpy(path, "/tmp/cuda-calls-XXXXXX");
    int file = mkstemp(path);
    if (file < 0 || write(file, &code, sizeof code) != (ssize_t)sizeof code)
        abort();
    close(file);
    return path;
}

static void driver_modules(void)
{
    const char *file = write_code();
    CUmodule module;
    CUlibrary library;
    expect("cuda_object", "cuModuleLoadData", sizeof code,
           (int)DRIVER("cuModuleLoadData", cuModuleLoadData)(&module, &code));
    expect("cuda_object_gone", "cuModuleUnload", 0,
           (int)DRIVER("cuModuleUnload", cuModuleUnload)(module));
    expect("cuda_object", "cuModuleLoadDataEx", 6128,
           (int)DRIVER("cuModuleLoadDataEx", cuModuleLoadDataEx)(&module, &cubin, 0, NULL, NULL));
    expect("cuda_object_gone", "cuModuleUnload", 0,
           (int)DRIVER("cuModuleUnload", cuModuleUnload)(module));
    expect("cuda_object", "cuModuleLoadFatBinary", sizeof code,
           (int)DRIVER("cuModuleLoadFatBinary", cuModuleLoadFatBinary)(&module, &wrapper));
    expect("cuda_object_gone", "cuModuleUnload", 0,
           (int)DRIVER("cuModuleUnload", cuModuleUnload)(module));
    expect("cuda_object", "cuModuleLoadData", 0,
           (int)DRIVER("cuModuleLoadData", cuModuleLoadData)(&module, text));
    expect("cuda_object_gone", "cuModuleUnload", 0,
           (int)DRIVER("cuModuleUnload", cuModuleUnload)(module));
    expect("cuda_object", "cuModuleLoad", sizeof code,
           (int)DRIVER("cuModuleLoad", cuModuleLoad)(&module, file));
    expect("cuda_object_gone", "cuModuleUnload", 0,
           (int)DRIVER("cuModuleUnload", cuModuleUnload)(module));
    expect("cuda_object", "cuLibraryLoadData", sizeof code,
           (int)DRIVER("cuLibraryLoadData", cuLibraryLoadData)(&library, &wrapper, NULL, NULL, 0,
                                                               NULL, NULL, 0));
    expect("cuda_object_gone", "cuLibraryUnload", 0,
           (int)DRIVER("cuLibraryUnload", cuLibraryUnload)(library));
    expect("cuda_object", "cuLibraryLoadFromFile", sizeof code,
           (int)DRIVER("cuLibraryLoadFromFile", cuLibraryLoadFromFile)(&library, file, NULL, NULL,
                                                                       0, NULL, NULL, 0));
    expect("cuda_object_gone", "cuLibraryUnload", 0,
           (int)DRIVER("cuLibraryUnload", cuLibraryUnload)(library));
    unlink(file);
}

static void runtime_libraries(void)
{
    const char *file = write_code();
    cudaLibrary_t library;
    expect("cuda_object", "cudaLibraryLoadData", sizeof code,
           (int)cudaLibraryLoadData(&library, &wrapper, NULL, NULL, 0, NULL, NULL, 0));
    expect("cuda_object_gone", "cudaLibraryUnload", 0, (int)cudaLibraryUnload(library));
    expect("cuda_object", "cudaLibraryLoadFromFile", sizeof code,
           (int)cudaLibraryLoadFromFile(&library, file, NULL, NULL, 0, NULL, NULL, 0));
    expect("cuda_object_gone", "cudaLibraryUnload", 0, (int)cudaLibraryUnload(library));
    unlink(file);
}

static void driver_streams(void)
{
    CUstream stream;
    expect("cuda_object", "cuStreamCreate", 0,
           (int)DRIVER("cuStreamCreate", cuStreamCreate)(&stream, 0));
    expect("cuda_object_gone", "cuStreamDestroy", 0,
           (int)DRIVER("cuStreamDestroy", cuStreamDestroy)(stream));
    expect("cuda_object", "cuStreamCreateWithPriority", 0,
           (int)DRIVER("cuStreamCreateWithPriority", cuStreamCreateWithPriority)(&stream, 0, -1));
    expect("cuda_object_gone", "cuStreamDestroy", 0,
           (int)DRIVER("cuStreamDestroy", cuStreamDestroy)(stream));
}

/* It is freed as other memory is. */
static void external_memory(void)
{
    struct cudaExternalMemoryHandleDesc desc = {.type = cudaExternalMemoryHandleTypeOpaqueFd,
                                                .size = 8 * MIB};
    struct cudaExternalMemoryBufferDesc whole = {.size = 8 * MIB};
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC half = {.offset = 4 * MIB, .size = 4 * MIB};
    cudaExternalMemory_t external;
    CUdeviceptr part;
    void *all;
    desc.handle.fd = memfd_create("external", 0);
    cudaImportExternalMemory(&external, &desc);
    expect("cuda_malloc", "cudaExternalMemoryGetMappedBuffer", 8 * MIB,
           (int)cudaExternalMemoryGetMappedBuffer(&all, external, &whole));
    expect("cuda_malloc", "cuExternalMemoryGetMappedBuffer", 4 * MIB,
           (int)DRIVER("cuExternalMemoryGetMappedBuffer",
                       cuExternalMemoryGetMappedBuffer)(&part, (CUexternalMemory)external, &half));
    expect("cuda_free", "cuMemFree", 0, (int)DRIVER("cuMemFree", cuMemFree)(part));
    expect("cuda_free", "cudaFree", 0, (int)cudaFree(all));
    cudaDestroyExternalMemory(external);
}

/* A look-up of CUDA 12.4 has no streams of theirs. */
static void driver_green(void)
{
    CUdevResource all;
    CUdevResourceDesc part;
    CUgreenCtx context;
    CUstream stream;
    int has_streams = !strcmp(route, "linked") || !strcmp(route, "dlsym");
    cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM);
    cuDevResourceGenerateDesc(&part, &all, 1);
    expect("cuda_object", "cuGreenCtxCreate", 0,
           (int)DRIVER("cuGreenCtxCreate", cuGreenCtxCreate)(&context, part, 0,
                                                             CU_GREEN_CTX_DEFAULT_STREAM));
    if (has_streams) {
        expect("cuda_object", "cuGreenCtxStreamCreate", 0,
               (int)DRIVER("cuGreenCtxStreamCreate",
                           cuGreenCtxStreamCreate)(&stream, context, CU_STREAM_NON_BLOCKING, 0));
        expect("cuda_object_gone", "cuStreamDestroy", 0,
               (int)DRIVER("cuStreamDestroy", cuStreamDestroy)(stream));
    }
    expect("cuda_object_gone", "cuGreenCtxDestroy", 0,
           (int)DRIVER("cuGreenCtxDestroy", cuGreenCtxDestroy)(context));
}

static void driver_objects(void)
{
    CUcontext context, own;
    expect("cuda_object", "cuDevicePrimaryCtxRetain", 0,
           (int)DRIVER("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain)(&context, 0));
    expect("cuda_object_gone", "cuDevicePrimaryCtxRelease", 0,
           (int)DRIVER("cuDevicePrimaryCtxRelease", cuDevicePrimaryCtxRelease)(0));
    /* Its parameters depend on the version that is asked for. */
    CUresult (*create)(CUcontext *, CUexecAffinityParam *, int, unsigned, CUdevice) =
        (CUresult(*)(CUcontext *, CUexecAffinityParam *, int, unsigned, CUdevice))(
            uintptr_t)look_up("cuCtxCreate", "cuCtxCreate_v3", NULL);
    if (create) {
        expect("cuda_object", "cuCtxCreate", 0, (int)create(&own, NULL, 0, 0, 0));
        expect("cuda_object_gone", "cuCtxDestroy", 0,
               (int)DRIVER("cuCtxDestroy", cuCtxDestroy)(own));
    }
}

int main(int argc, char **argv)
{
    route = argc > 1 ? argv[1] : "linked";
    cudaFree(NULL); /* what is loaded by CUDA's first call is told of the next ones */
    runtime_memory();
    runtime_arrays();
    runtime_host();
    runtime_async();
    driver_memory();
    driver_host();
    driver_arrays();
    driver_physical();
    driver_multicast();
    driver_imported();
    external_memory();
    runtime_libraries();
    driver_modules();
    driver_streams();
    driver_green();
    if (strcmp(route, "linked"))
        driver_objects();
    return 0;
}
