/* SPDX-License-Identifier: Apache-2.0 */
/* The driver: one state with the runtime, and functions by name. */
#include <string.h>

#include "sim-test.h"

START_TEST(both_interfaces_count_alike)
{
    CUdeviceptr address;
    void *other;
    size_t before, left, total;

    use_gpu("l4");
    before = available();
    ck_cu(cuMemAlloc(&address, MIB(10)));
    ck_assert_uint_eq(before - available(), MIB(10));
    ck_cuda(cudaMalloc(&other, MIB(4)));
    ck_cu(cuMemGetInfo(&left, &total));
    ck_assert_uint_eq(before - left, MIB(14));
    ck_cuda(cudaFree((void *)(uintptr_t)address));
    ck_cu(cuMemFree((CUdeviceptr)(uintptr_t)other));
    ck_assert_uint_eq(available(), before);
}
END_TEST

START_TEST(contexts_are_shared)
{
    CUcontext primary, current;
    unsigned flags;
    int active, device;

    use_gpu("t4");
    setenv("CUDASIM_GPUS", "2", 1);
    ck_cu(cuInit(0));
    ck_cu(cuDevicePrimaryCtxGetState(1, &flags, &active));
    ck_assert_int_eq(active, 0);
    ck_cu(cuCtxGetCurrent(&current));
    ck_assert_ptr_null(current);
    ck_cuda(cudaSetDevice(1));
    ck_cu(cuDevicePrimaryCtxGetState(1, &flags, &active));
    ck_assert_int_eq(active, 1);
    ck_cu(cuDevicePrimaryCtxRetain(&primary, 1));
    ck_cu(cuCtxGetCurrent(&current));
    ck_assert_ptr_eq(current, primary);
    ck_cu(cuDevicePrimaryCtxRetain(&primary, 0));
    ck_cu(cuCtxPushCurrent(primary));
    ck_cuda(cudaGetDevice(&device));
    ck_assert_int_eq(device, 0);
    ck_cu(cuCtxPopCurrent(&current));
    ck_assert_ptr_eq(current, primary);
    ck_cuda(cudaGetDevice(&device));
    ck_assert_int_eq(device, 1);
}
END_TEST

START_TEST(without_a_context_there_is_nothing)
{
    CUdeviceptr address;

    use_gpu("t4");
    ck_cu(cuInit(0));
    ck_assert_int_eq(cuMemAlloc(&address, 100), CUDA_ERROR_INVALID_CONTEXT);
}
END_TEST

START_TEST(errors_have_names)
{
    const char *text;

    use_gpu("t4");
    ck_cu(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
    ck_assert_str_eq(text, "CUDA_ERROR_OUT_OF_MEMORY");
    ck_cu(cuGetErrorString(CUDA_ERROR_INVALID_CONTEXT, &text));
    ck_assert_str_eq(text, "invalid device context");
    ck_assert_int_eq(cuGetErrorString((CUresult)4711, &text), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(functions_are_found_by_name_and_version)
{
    CUdriverProcAddressQueryResult status;
    void *found;

    use_gpu("t4");
    ck_cu(cuGetProcAddress("cuMemAlloc", &found, 13000, 0, &status));
    ck_assert_int_eq(status, CU_GET_PROC_ADDRESS_SUCCESS);
    ck_assert_ptr_eq(found, (void *)cuMemAlloc);
    ck_cu(cuGetProcAddress("cuCtxCreate", &found, 4000, 0, &status));
    ck_assert_ptr_nonnull(found);
    ck_assert_ptr_ne(found, (void *)cuCtxCreate);
    ck_cu(cuGetProcAddress("cuCtxCreate", &found, 13000, 0, &status));
    ck_assert_ptr_eq(found, (void *)cuCtxCreate);
    ck_cu(cuGetProcAddress("cuMemCreate", &found, 10000, 0, &status));
    ck_assert_int_eq(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    ck_assert_ptr_null(found);
    ck_cu(cuGetProcAddress("cuNoSuchThing", &found, 13000, 0, &status));
    ck_assert_int_eq(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    ck_assert_ptr_null(found);
    ck_cu(cuGetProcAddress("", &found, 13000, 0, &status));
    ck_assert_ptr_null(found);
    ck_assert_int_eq(cuGetProcAddress("cuInit", &found, 99000, 0, &status),
                     CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(the_runtime_finds_them_too)
{
    enum cudaDriverEntryPointQueryResult result;
    void *found;

    use_gpu("t4");
    ck_cuda(
        cudaGetDriverEntryPointByVersion("cuMemCreate", &found, 12000, cudaEnableDefault, &result));
    ck_assert_int_eq(result, cudaDriverEntryPointSuccess);
    ck_assert_ptr_eq(found, (void *)cuMemCreate);
    ck_cuda(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &found, 12000, cudaEnableDefault,
                                             &result));
    ck_assert_int_eq(result, cudaDriverEntryPointSymbolNotFound);
    ck_assert_ptr_null(found);
}
END_TEST

START_TEST(pointers_are_known)
{
    CUdeviceptr address, base;
    CUmemorytype type;
    size_t size;
    int device = -1, own;

    use_gpu("t4");
    ck_cuda(cudaMalloc((void **)&address, MIB(6)));
    ck_cu(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + 5));
    ck_assert_int_eq(type, CU_MEMORYTYPE_DEVICE);
    ck_cu(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address));
    ck_assert_int_eq(device, 0);
    ck_cu(cuMemGetAddressRange(&base, &size, address + MIB(3)));
    ck_assert_uint_eq(base, address);
    ck_assert_uint_eq(size, MIB(6));
    ck_assert_int_eq(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                           (CUdeviceptr)(uintptr_t)&own),
                     CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(modules_and_streams_allocate_memory)
{
    struct {
        unsigned magic;
        unsigned short version, header_size;
        unsigned long long size;
    } code = {0xba55ed50, 1, sizeof(code), MIB(6) - sizeof(code)};
    CUmodule module, same, text;
    CUlibrary library;
    CUstream stream;
    size_t before;

    use_gpu("t4");
    setenv("CUDASIM_STREAM", "4194304", 1);
    before = available();
    ck_cu(cuModuleLoadData(&module, &code));
    ck_assert_uint_eq(before - available(), MIB(6));
    ck_cu(cuModuleLoadData(&same, &code));
    ck_assert_uint_eq(before - available(), MIB(12));
    ck_cu(cuLibraryLoadData(&library, &code, NULL, NULL, 0, NULL, NULL, 0));
    ck_assert_uint_eq(before - available(), MIB(18));
    ck_cu(cuModuleLoadData(&text, ".version 8.0"));
    ck_assert_uint_eq(before - available(), MIB(20)); /* a page that small ones share */
    ck_cu(cuStreamCreate(&stream, 0));
    ck_assert_uint_eq(before - available(), MIB(24));
    ck_cu(cuStreamDestroy(stream));
    ck_cu(cuModuleUnload(text));
    ck_cu(cuLibraryUnload(library));
    ck_cu(cuModuleUnload(same));
    ck_cu(cuModuleUnload(module));
    ck_assert_uint_eq(available(), before);
    ck_assert_int_eq(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
    ck_assert_int_eq(cuModuleLoad(&module, "/no/such/file"), CUDA_ERROR_FILE_NOT_FOUND);
    code.size = GIB(100);
    ck_assert_int_eq(cuModuleLoadData(&module, &code), CUDA_ERROR_OUT_OF_MEMORY);
}
END_TEST

/* Without a primary context, the last of a device's others has them. */
START_TEST(a_context_gives_back_its_stacks_and_streams)
{
    CUcontext first, second;
    CUstream streams[2];
    size_t before, now, total;

    use_gpu("t4");
    ck_cu(cuInit(0));
    ck_cu(cuCtxCreate(&first, NULL, 0, 0));
    ck_cu(cuMemGetInfo(&before, &total));
    ck_cu(cuCtxCreate(&second, NULL, 0, 0));
    ck_cu(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, KIB(5)));
    for (int i = 0; i < 2; i++)
        ck_cu(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    ck_cu(cuMemGetInfo(&now, &total));
    ck_assert_uint_lt(now, before - MIB(160));
    ck_cu(cuCtxDestroy(second));
    ck_cu(cuCtxDestroy(first));
    ck_cu(cuCtxCreate(&first, NULL, 0, 0));
    ck_cu(cuMemGetInfo(&now, &total));
    ck_assert_uint_eq(now, before);
    ck_cu(cuCtxDestroy(first));
}
END_TEST

/* It is the primary one, and ends by cuGreenCtxDestroy alone. */
START_TEST(a_green_context_gives_nothing_back)
{
    CUdevResource resource;
    CUdevResourceDesc description;
    CUgreenCtx green;
    CUcontext context;
    size_t before;

    use_gpu("t4");
    before = available();
    ck_cu(cuDeviceGetDevResource(0, &resource, CU_DEV_RESOURCE_TYPE_SM));
    ck_cu(cuDevResourceGenerateDesc(&description, &resource, 1));
    ck_cu(cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    ck_cu(cuCtxFromGreenCtx(&context, green));
    ck_assert_uint_eq(available(), before);
    ck_assert_int_eq(cuCtxDestroy(context), CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_uint_eq(available(), before);
    ck_cu(cuGreenCtxDestroy(green));
    ck_assert_uint_eq(available(), before);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("driver");

    tcase_add_test(tests, both_interfaces_count_alike);
    tcase_add_test(tests, contexts_are_shared);
    tcase_add_test(tests, without_a_context_there_is_nothing);
    tcase_add_test(tests, errors_have_names);
    tcase_add_test(tests, functions_are_found_by_name_and_version);
    tcase_add_test(tests, the_runtime_finds_them_too);
    tcase_add_test(tests, pointers_are_known);
    tcase_add_test(tests, modules_and_streams_allocate_memory);
    tcase_add_test(tests, a_context_gives_back_its_stacks_and_streams);
    tcase_add_test(tests, a_green_context_gives_nothing_back);
    return RUN_TESTS(tests);
}
