/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual-memory management, as PyTorch's expandable segments use it. */
#include <string.h>

#include "sim-test.h"

static const CUmemAllocationProp on_device = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED,
    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
};
static const CUmemAccessDesc readable = {
    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
};

START_TEST(memory_counts_while_it_is_held_or_mapped)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    size_t before;

    use_gpu("t4");
    before = available();
    ck_cu(cuMemAddressReserve(&address, GIB(64), 0, 0, 0));
    ck_assert_uint_eq(available(), before);
    ck_cu(cuMemCreate(&handle, MIB(20), &on_device, 0));
    ck_assert_uint_eq(before - available(), MIB(20));
    ck_cu(cuMemMap(address, MIB(20), 0, handle, 0));
    ck_cu(cuMemRelease(handle));
    ck_assert_uint_eq(before - available(), MIB(20));
    ck_assert_int_eq(cuMemAddressFree(address, GIB(64)), CUDA_ERROR_INVALID_VALUE);
    ck_cu(cuMemUnmap(address, MIB(20)));
    ck_assert_uint_eq(available(), before);
    ck_cu(cuMemAddressFree(address, GIB(64)));
}
END_TEST

START_TEST(mapped_memory_can_be_used)
{
    struct cudaPointerAttributes attributes;
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    char text[16] = "across", back[16];

    use_gpu("t4");
    ck_cuda(cudaFree(NULL));
    ck_cu(cuMemAddressReserve(&address, MIB(40), 0, 0, 0));
    for (unsigned i = 0; i < 2; i++) {
        ck_cu(cuMemCreate(&handle, MIB(2), &on_device, 0));
        ck_cu(cuMemMap(address + i * MIB(2), MIB(2), 0, handle, 0));
    }
    ck_assert_int_eq(cuMemcpyHtoD(address, text, 8), CUDA_ERROR_INVALID_VALUE);
    ck_cu(cuMemSetAccess(address, MIB(4), &readable, 1));
    ck_cu(cuMemcpyHtoD(address + MIB(2) - 3, text, sizeof(text)));
    ck_cu(cuMemcpyDtoH(back, address + MIB(2) - 3, sizeof(back)));
    ck_assert_str_eq(back, "across");
    ck_assert_int_eq(cuMemcpyHtoD(address + MIB(4) - 3, text, 8), CUDA_ERROR_INVALID_VALUE);
    ck_cuda(cudaPointerGetAttributes(&attributes, (void *)(uintptr_t)(address + 5)));
    ck_assert_int_eq(attributes.type, cudaMemoryTypeDevice);
    ck_cuda(cudaPointerGetAttributes(&attributes, (void *)(uintptr_t)(address + MIB(30))));
    ck_assert_int_eq(attributes.type, cudaMemoryTypeUnregistered);
    ck_cu(cuMemUnmap(address, MIB(4)));
    ck_assert_int_eq(cuMemcpyDtoH(back, address, 8), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(a_multicast_object_keeps_what_is_bound)
{
    CUmulticastObjectProp team = {.numDevices = 1, .size = MIB(4)};
    CUmemGenericAllocationHandle object, handle;
    CUdeviceptr address;
    size_t before;

    use_gpu("t4");
    before = available();
    ck_cu(cuMulticastCreate(&object, &team));
    ck_assert_uint_eq(available(), before);
    ck_cu(cuMemCreate(&handle, MIB(2), &on_device, 0));
    ck_assert_int_eq(cuMulticastBindMem(object, 0, handle, 0, MIB(2), 0), CUDA_ERROR_INVALID_VALUE);
    ck_cu(cuMulticastAddDevice(object, 0));
    ck_assert_int_eq(cuMulticastAddDevice(object, 0), CUDA_ERROR_INVALID_VALUE);
    ck_cu(cuMulticastBindMem(object, 0, handle, 0, MIB(2), 0));
    ck_assert_int_eq(cuMulticastBindMem(object, 0, handle, 0, MIB(2), 0), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(cuMulticastBindMem(object, MIB(4), handle, 0, MIB(2), 0),
                     CUDA_ERROR_INVALID_VALUE);
    ck_cu(cuMemAddressReserve(&address, MIB(2), 0, 0, 0));
    ck_cu(cuMemMap(address, MIB(2), 0, handle, 0));
    ck_cu(cuMulticastBindAddr(object, MIB(2), address, MIB(2), 0));
    ck_cu(cuMemUnmap(address, MIB(2)));
    ck_cu(cuMemRelease(handle));
    ck_assert_uint_eq(before - available(), MIB(2));
    ck_assert_int_eq(cuMulticastUnbind(object, 0, 0, MIB(4)), CUDA_ERROR_INVALID_VALUE);
    ck_cu(cuMulticastUnbind(object, 0, 0, MIB(2)));
    ck_assert_uint_eq(before - available(), MIB(2));
    ck_cu(cuMemMap(address, MIB(2), 0, object, 0));
    ck_cu(cuMemRelease(object));
    ck_assert_uint_eq(before - available(), MIB(2));
    ck_cu(cuMemUnmap(address, MIB(2)));
    ck_assert_uint_eq(available(), before);
    ck_cu(cuMemAddressFree(address, MIB(2)));
}
END_TEST

START_TEST(wrong_mappings_are_refused)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;

    use_gpu("t4");
    ck_assert_int_eq(cuMemCreate(&handle, 1000, &on_device, 0), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(cuMemCreate(&handle, GIB(100), &on_device, 0), CUDA_ERROR_OUT_OF_MEMORY);
    ck_cu(cuMemAddressReserve(&address, MIB(8), 0, 0, 0));
    ck_cu(cuMemCreate(&handle, MIB(4), &on_device, 0));
    ck_assert_int_eq(cuMemMap(address + MIB(6), MIB(4), 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(cuMemMap(address, MIB(4), MIB(2), handle, 0), CUDA_ERROR_INVALID_VALUE);
    ck_cu(cuMemMap(address + MIB(2), MIB(4), 0, handle, 0));
    ck_assert_int_eq(cuMemMap(address + MIB(4), MIB(4), 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(cuMemUnmap(address, MIB(2)), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(cuMemUnmap(address + MIB(2), MIB(2)), CUDA_ERROR_INVALID_VALUE);
    ck_cu(cuMemUnmap(address + MIB(2), MIB(4)));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("vmm");

    tcase_add_test(tests, memory_counts_while_it_is_held_or_mapped);
    tcase_add_test(tests, mapped_memory_can_be_used);
    tcase_add_test(tests, a_multicast_object_keeps_what_is_bound);
    tcase_add_test(tests, wrong_mappings_are_refused);
    return RUN_TESTS(tests);
}
