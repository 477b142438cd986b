/* SPDX-License-Identifier: Apache-2.0 */
/* Accounting and addresses of device memory. */
#include <pthread.h>

#include "catalogue.h"
#include <sys/mman.h>
#include <unistd.h>

#include "sim-test.h"

START_TEST(context_allocates_its_share)
{
    const struct sim_gpu *gpu = sim_gpu_find("h200");

    use_gpu("h200");
    ck_assert_uint_eq(available(), gpu->memory - gpu->context);
}
END_TEST

START_TEST(memory_is_counted_in_pages)
{
    static const struct {
        size_t size, counted;
    } cases[] = {{1, MIB(2)},          {KIB(512), MIB(2)}, {MIB(1), MIB(2)}, {MIB(2), MIB(2)},
                 {MIB(2) + 1, MIB(4)}, {MIB(20), MIB(20)}, {GIB(5), GIB(5)}, {GIB(5) - 3, GIB(5)}};
    size_t before;

    use_gpu("a100-80g");
    before = available();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        void *address;

        ck_cuda(cudaMalloc(&address, cases[i].size));
        ck_assert_uint_eq(before - available(), cases[i].counted);
        ck_cuda(cudaFree(address));
        ck_assert_uint_eq(available(), before);
    }
}
END_TEST

START_TEST(small_ones_share_a_page)
{
    void *addresses[64];
    size_t before;

    use_gpu("t4");
    before = available();
    for (int i = 0; i < 64; i++) {
        ck_cuda(cudaMalloc(&addresses[i], KIB(32)));
        ck_assert_uint_eq((uintptr_t)addresses[i] % 512, 0);
        for (int j = 0; j < i; j++)
            ck_assert(labs((char *)addresses[i] - (char *)addresses[j]) >= (long)KIB(32));
    }
    ck_assert_uint_eq(before - available(), MIB(2));
    for (int i = 0; i < 64; i++)
        ck_cuda(cudaFree(addresses[i]));
    ck_assert_uint_eq(available(), before);
}
END_TEST

START_TEST(large_ones_lie_on_pages)
{
    void *address;

    use_gpu("t4");
    ck_cuda(cudaMalloc(&address, MIB(3)));
    ck_assert_uint_eq((uintptr_t)address % MIB(2), 0);
}
END_TEST

START_TEST(out_of_memory_is_an_error_like_any_other)
{
    void *address = &address;
    size_t before;

    use_gpu("rtx4090");
    before = available();
    ck_assert_int_eq(cudaMalloc(&address, before + 1), cudaErrorMemoryAllocation);
    ck_assert_ptr_null(address);
    ck_assert_int_eq(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
    ck_assert_int_eq(cudaGetLastError(), cudaErrorMemoryAllocation);
    ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
    ck_assert_uint_eq(available(), before);
    ck_assert_int_eq(cudaMalloc(&address, SIZE_MAX), cudaErrorMemoryAllocation);
    cudaGetLastError();
    ck_cuda(cudaMalloc(&address, before / MIB(2) * MIB(2)));
    ck_assert_uint_eq(available(), before % MIB(2));
    ck_assert_int_eq(cudaMalloc(&address, 1), cudaErrorMemoryAllocation);
}
END_TEST

START_TEST(capacity_can_be_chosen)
{
    size_t left, total;

    use_gpu("h100");
    setenv("CUDASIM_MEMORY", "8589934592", 1);
    ck_cuda(cudaMemGetInfo(&left, &total));
    ck_assert_uint_eq(total, GIB(8));
    ck_assert_uint_eq(left, GIB(8) - sim_gpu_find("h100")->context);
}
END_TEST

START_TEST(a_large_device_fits_a_small_host)
{
    void *address;
    size_t before;

    use_gpu("b300");
    before = resident();
    ck_cuda(cudaMalloc(&address, GIB(250)));
    ck_cuda(cudaMemset(address, 0, GIB(250)));
    ck_assert_uint_lt(resident() - before, MIB(8));
    ck_cuda(cudaFree(address));
}
END_TEST

/* Stretches of 32 MiB: addresses rise in one, the next is below, and a free place is used again. */
START_TEST(addresses_are_those_of_a_driver)
{
    char *at[20], *again;
    for (int i = 0; i < 20; i++)
        ck_cuda(cudaMalloc((void **)&at[i], MIB(2)));
    for (int i = 1; i < 16; i++)
        ck_assert_ptr_eq(at[i], at[i - 1] + MIB(2));
    ck_assert_ptr_eq(at[16], at[0] - MIB(32));
    ck_cuda(cudaFree(at[17]));
    ck_cuda(cudaMalloc((void **)&again, MIB(2)));
    ck_assert_ptr_eq(again, at[17]);
    ck_cuda(cudaFree(at[3]));
    ck_cuda(cudaMalloc((void **)&again, MIB(28)));
    ck_assert_ptr_eq(again, at[16] - MIB(32));
}
END_TEST

START_TEST(wrong_addresses_are_refused)
{
    char own[16];
    char *address;

    use_gpu("t4");
    ck_cuda(cudaFree(NULL));
    ck_assert_int_eq(cudaFree(own), cudaErrorInvalidValue);
    ck_cuda(cudaMalloc((void **)&address, MIB(4)));
    ck_assert_int_eq(cudaFree(address + 512), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaFreeHost(address), cudaErrorInvalidValue);
    ck_cuda(cudaFree(address));
    ck_assert_int_eq(cudaFree(address), cudaErrorInvalidValue);
}
END_TEST

START_TEST(zero_bytes_give_a_null_pointer)
{
    void *address = &address;

    use_gpu("t4");
    ck_cuda(cudaMalloc(&address, 0));
    ck_assert_ptr_null(address);
}
END_TEST

static void check_attributes(const void *address, enum cudaMemoryType type, int device)
{
    struct cudaPointerAttributes attributes;

    ck_cuda(cudaPointerGetAttributes(&attributes, address));
    ck_assert_int_eq(attributes.type, type);
    ck_assert_int_eq(attributes.device, device);
}

START_TEST(pointers_are_known)
{
    char own[4096];
    char *device, *pinned, *managed, *small;

    use_gpu("t4");
    ck_cuda(cudaMalloc((void **)&device, MIB(8)));
    ck_cuda(cudaMalloc((void **)&small, 600));
    ck_cuda(cudaMallocHost((void **)&pinned, 5000));
    ck_cuda(cudaMallocManaged((void **)&managed, MIB(2), cudaMemAttachGlobal));
    check_attributes(device + MIB(7), cudaMemoryTypeDevice, 0);
    check_attributes(small + 599, cudaMemoryTypeDevice, 0);
    check_attributes(pinned + 4999, cudaMemoryTypeHost, 0);
    check_attributes(managed, cudaMemoryTypeManaged, 0);
    check_attributes(own, cudaMemoryTypeUnregistered, cudaInvalidDeviceId);
    ck_cuda(cudaHostRegister(own, sizeof(own), 0));
    check_attributes(own + 1, cudaMemoryTypeHost, 0);
    ck_assert_int_eq(cudaHostRegister(own, 8, 0), cudaErrorHostMemoryAlreadyRegistered);
    ck_cuda(cudaHostUnregister(own));
    ck_assert_int_eq(cudaHostUnregister(own), cudaErrorHostMemoryNotRegistered);
    check_attributes(own, cudaMemoryTypeUnregistered, cudaInvalidDeviceId);
}
END_TEST

START_TEST(pinned_memory_is_the_hosts)
{
    size_t before;
    char *pinned;

    use_gpu("t4");
    before = available();
    ck_cuda(cudaHostAlloc((void **)&pinned, MIB(64), cudaHostAllocPortable));
    ck_assert_uint_eq(available(), before);
    pinned[MIB(64) - 1] = 1;
    ck_cuda(cudaFreeHost(pinned));
}
END_TEST

static void *churn(void *failed)
{
    for (int i = 0; i < 300; i++) {
        void *small, *large;

        if (cudaMalloc(&small, 512u * (unsigned)(i % 40 + 1)) || cudaMalloc(&large, MIB(3)) ||
            cudaFree(small) || cudaFree(large))
            *(int *)failed = 1;
    }
    return NULL;
}

START_TEST(threads_may_allocate)
{
    pthread_t threads[4];
    int failed[4] = {0};
    size_t before;

    use_gpu("h100");
    before = available();
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, &failed[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_int_eq(failed[i], 0);
    }
    ck_assert_uint_eq(available(), before);
}
END_TEST

START_TEST(reset_frees_everything)
{
    void *address;
    size_t before, stack;

    use_gpu("t4");
    before = available();
    ck_cuda(cudaMalloc(&address, GIB(1)));
    ck_cuda(cudaMalloc(&address, 100));
    ck_cuda(cudaDeviceSetLimit(cudaLimitStackSize, KIB(5)));
    ck_assert_uint_eq(before - available(), GIB(1) + MIB(2) + 40 * 1024 * KIB(4));
    ck_cuda(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
    ck_assert_uint_eq(stack, KIB(5));
    ck_assert_int_eq(cudaDeviceSetLimit(cudaLimitStackSize, MIB(1)), cudaErrorMemoryAllocation);
    ck_cuda(cudaDeviceReset());
    ck_assert_uint_eq(available(), before);
    ck_cuda(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
    ck_assert_uint_eq(stack, KIB(1));
}
END_TEST

/* As Vulkan would export it; contents are those of the file. */
START_TEST(external_memory_allocates_nothing)
{
    struct cudaExternalMemoryHandleDesc desc = {.type = cudaExternalMemoryHandleTypeOpaqueFd,
                                                .size = MIB(4)};
    struct cudaExternalMemoryBufferDesc part = {.offset = MIB(1), .size = MIB(2)};
    cudaExternalMemory_t external;
    char *address, byte = 0, wanted = 7;
    size_t before;

    use_gpu("t4");
    before = available();
    desc.handle.fd = memfd_create("external", 0);
    ck_assert_int_eq(ftruncate(desc.handle.fd, (off_t)MIB(4)), 0);
    ck_assert_int_eq(pwrite(desc.handle.fd, &wanted, 1, (off_t)MIB(1) + 5), 1);
    ck_cuda(cudaImportExternalMemory(&external, &desc));
    ck_cuda(cudaExternalMemoryGetMappedBuffer((void **)&address, external, &part));
    ck_cuda(cudaMemcpy(&byte, address + 5, 1, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(byte, 7);
    ck_assert_uint_eq(available(), before);
    ck_cuda(cudaFree(address));
    ck_assert_int_eq(cudaFree(address), cudaErrorInvalidValue);
    part.offset = MIB(3);
    ck_assert_int_eq(cudaExternalMemoryGetMappedBuffer((void **)&address, external, &part),
                     cudaErrorInvalidValue);
    ck_cuda(cudaDestroyExternalMemory(external));
    desc.handle.fd = -1;
    ck_assert_int_ne(cudaImportExternalMemory(&external, &desc), cudaSuccess);
    ck_assert_uint_eq(available(), before);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("memory");

    tcase_add_test(tests, context_allocates_its_share);
    tcase_add_test(tests, memory_is_counted_in_pages);
    tcase_add_test(tests, small_ones_share_a_page);
    tcase_add_test(tests, large_ones_lie_on_pages);
    tcase_add_test(tests, out_of_memory_is_an_error_like_any_other);
    tcase_add_test(tests, capacity_can_be_chosen);
    tcase_add_test(tests, a_large_device_fits_a_small_host);
    tcase_add_test(tests, addresses_are_those_of_a_driver);
    tcase_add_test(tests, wrong_addresses_are_refused);
    tcase_add_test(tests, zero_bytes_give_a_null_pointer);
    tcase_add_test(tests, pointers_are_known);
    tcase_add_test(tests, pinned_memory_is_the_hosts);
    tcase_add_test(tests, threads_may_allocate);
    tcase_add_test(tests, reset_frees_everything);
    tcase_add_test(tests, external_memory_allocates_nothing);
    return RUN_TESTS(tests);
}
