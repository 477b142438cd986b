/* SPDX-License-Identifier: Apache-2.0 */
/* Memory in the order of streams, and the pools that it comes from. */
#include <string.h>

#include "sim-test.h"

static cudaMemPool_t pool;

static void begin(void)
{
    use_gpu("t4");
    available(); /* the context is there */
    ck_cuda(cudaDeviceGetDefaultMemPool(&pool, 0));
}

static uint64_t figure(cudaMemPool_t of, enum cudaMemPoolAttr attribute)
{
    uint64_t value = 0;

    ck_cuda(cudaMemPoolGetAttribute(of, attribute, &value));
    return value;
}

static void keep(cudaMemPool_t of, uint64_t threshold)
{
    ck_cuda(cudaMemPoolSetAttribute(of, cudaMemPoolAttrReleaseThreshold, &threshold));
}

static void check_figures(uint64_t reserved, uint64_t reserved_high, uint64_t used,
                          uint64_t used_high)
{
    ck_assert_uint_eq(figure(pool, cudaMemPoolAttrReservedMemCurrent), reserved);
    ck_assert_uint_eq(figure(pool, cudaMemPoolAttrReservedMemHigh), reserved_high);
    ck_assert_uint_eq(figure(pool, cudaMemPoolAttrUsedMemCurrent), used);
    ck_assert_uint_eq(figure(pool, cudaMemPoolAttrUsedMemHigh), used_high);
}

START_TEST(figures_follow_what_is_allocated)
{
    void *small, *large;
    uint64_t zero = 0;
    size_t before;

    begin();
    before = available();
    check_figures(0, 0, 0, 0);
    ck_cuda(cudaMallocAsync(&small, 700, NULL));
    check_figures(MIB(32), MIB(32), 700, 700);
    ck_assert_uint_eq(before - available(), MIB(32));
    ck_cuda(cudaMallocAsync(&large, MIB(40), NULL));
    check_figures(MIB(64), MIB(64), MIB(40) + 700, MIB(40) + 700);
    ck_cuda(cudaFreeAsync(large, NULL));
    check_figures(MIB(64), MIB(64), 700, MIB(40) + 700);
    ck_cuda(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero));
    check_figures(MIB(64), MIB(64), 700, 700);
    ck_cuda(cudaStreamSynchronize(NULL));
    check_figures(MIB(32), MIB(64), 700, 700);
    ck_cuda(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &zero));
    check_figures(MIB(32), MIB(32), 700, 700);
    ck_cuda(cudaFree(small)); /* either call frees it */
    ck_cuda(cudaDeviceSynchronize());
    check_figures(0, MIB(32), 0, 700);
    ck_assert_uint_eq(available(), before);
    zero = 5;
    ck_assert_int_eq(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero),
                     cudaErrorInvalidValue);
    ck_assert_int_eq(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &zero),
                     cudaErrorInvalidValue);
}
END_TEST

START_TEST(a_threshold_keeps_memory_and_trimming_gives_it_back)
{
    void *address;
    size_t before;

    begin();
    before = available();
    keep(pool, UINT64_MAX);
    ck_cuda(cudaMallocAsync(&address, MIB(100), NULL));
    ck_cuda(cudaFreeAsync(address, NULL));
    ck_cuda(cudaDeviceSynchronize());
    ck_assert_uint_eq(before - available(), MIB(128));
    ck_cuda(cudaMemPoolTrimTo(pool, MIB(60)));
    ck_assert_uint_eq(before - available(), MIB(64));
    ck_cuda(cudaMemPoolTrimTo(pool, 0));
    ck_assert_uint_eq(available(), before);
}
END_TEST

START_TEST(what_a_pool_keeps_does_not_make_others_fail)
{
    void *address, *more;
    size_t all;

    begin();
    all = available() / MIB(64) * MIB(64);
    keep(pool, UINT64_MAX);
    ck_cuda(cudaMallocAsync(&address, all, NULL));
    ck_assert_int_eq(cudaMallocAsync(&more, MIB(64), NULL), cudaErrorMemoryAllocation);
    ck_cuda(cudaFreeAsync(address, NULL));
    ck_cuda(cudaMalloc(&address, all));
    ck_assert_uint_eq(figure(pool, cudaMemPoolAttrReservedMemCurrent), 0);
}
END_TEST

START_TEST(freed_memory_is_used_again_and_reads_as_zero)
{
    unsigned char *first, *again, byte = 7;

    begin();
    ck_cuda(cudaMallocAsync((void **)&first, MIB(3), NULL));
    ck_cuda(cudaMemcpyAsync(first + MIB(2), &byte, 1, cudaMemcpyHostToDevice, NULL));
    ck_cuda(cudaFreeAsync(first, NULL));
    ck_cuda(cudaMallocAsync((void **)&again, MIB(3), NULL));
    ck_assert_ptr_eq(first, again);
    ck_cuda(cudaMemcpy(&byte, again + MIB(2), 1, cudaMemcpyDeviceToHost));
    ck_assert_uint_eq(byte, 0);
    ck_assert_int_eq(cudaFreeAsync(first + 512, NULL), cudaErrorInvalidValue);
}
END_TEST

START_TEST(programs_make_pools)
{
    struct cudaMemPoolProps properties = {.allocType = cudaMemAllocationTypePinned,
                                          .location = {cudaMemLocationTypeDevice, 0},
                                          .maxSize = MIB(100)};
    cudaMemPool_t own, current;
    void *address, *more;
    size_t before;

    begin();
    before = available();
    ck_cuda(cudaMemPoolCreate(&own, &properties));
    ck_cuda(cudaDeviceSetMemPool(0, own));
    ck_cuda(cudaDeviceGetMemPool(&current, 0));
    ck_assert_ptr_eq(current, own);
    ck_cuda(cudaMallocAsync(&address, MIB(70), NULL));
    ck_assert_uint_eq(figure(own, cudaMemPoolAttrUsedMemCurrent), MIB(70));
    ck_assert_int_eq(cudaMallocAsync(&more, MIB(40), NULL), cudaErrorMemoryAllocation);
    ck_cuda(cudaMallocFromPoolAsync(&more, MIB(40), pool, NULL));
    ck_assert_uint_eq(figure(pool, cudaMemPoolAttrUsedMemCurrent), MIB(40));
    ck_cuda(cudaMemPoolDestroy(own)); /* what is in it lives on */
    ck_cuda(cudaDeviceGetMemPool(&current, 0));
    ck_assert_ptr_eq(current, pool);
    ck_cuda(cudaFreeAsync(address, NULL));
    ck_cuda(cudaFreeAsync(more, NULL));
    ck_cuda(cudaDeviceSynchronize());
    ck_assert_uint_eq(available(), before);
    ck_assert_int_eq(cudaMemPoolDestroy(pool), cudaErrorInvalidValue);
    properties.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    ck_assert_int_eq(cudaMemPoolCreate(&own, &properties), cudaErrorNotSupported);
}
END_TEST

START_TEST(stacks_and_streams_take_what_pools_keep)
{
    uint64_t all = UINT64_MAX;
    void *address, *rest;
    cudaStream_t streams[2];

    begin();
    ck_cuda(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
    for (int i = 0; i < 2; i++) {
        ck_cuda(cudaMallocAsync(&address, GIB(1), NULL));
        ck_cuda(cudaFreeAsync(address, NULL));
        ck_cuda(cudaDeviceSynchronize());
        ck_cuda(cudaMalloc(&rest, available() / MIB(2) * MIB(2)));
        ck_assert_uint_lt(available(), MIB(2));
        if (i)
            ck_cuda(cudaDeviceSetLimit(cudaLimitStackSize, KIB(5)));
        for (int j = 0; j < 2 && !i; j++)
            ck_cuda(cudaStreamCreate(&streams[j]));
        ck_cuda(cudaFree(rest));
    }
}
END_TEST

START_TEST(access_is_kept)
{
    struct cudaMemAccessDesc access = {.location = {cudaMemLocationTypeDevice, 1},
                                       .flags = cudaMemAccessFlagsProtReadWrite};
    enum cudaMemAccessFlags flags;

    use_gpu("t4");
    setenv("CUDASIM_GPUS", "2", 1);
    ck_cuda(cudaDeviceGetDefaultMemPool(&pool, 0));
    ck_cuda(cudaMemPoolGetAccess(&flags, pool, &access.location));
    ck_assert_int_eq(flags, cudaMemAccessFlagsProtNone);
    ck_cuda(cudaMemPoolSetAccess(pool, &access, 1));
    ck_cuda(cudaMemPoolGetAccess(&flags, pool, &access.location));
    ck_assert_int_eq(flags, cudaMemAccessFlagsProtReadWrite);
    access = (struct cudaMemAccessDesc){{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtNone};
    ck_assert_int_eq(cudaMemPoolSetAccess(pool, &access, 1), cudaErrorInvalidValue);
}
END_TEST

START_TEST(the_driver_has_the_same_pools)
{
    CUmemoryPool same;
    CUdeviceptr address;
    cuuint64_t used;
    int reuse;

    begin();
    ck_cu(cuDeviceGetDefaultMemPool(&same, 0));
    ck_assert_ptr_eq(same, pool);
    ck_cu(cuMemAllocAsync(&address, MIB(5), NULL));
    ck_cu(cuMemPoolGetAttribute(same, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    ck_assert_uint_eq(used, MIB(5));
    ck_cu(cuMemPoolGetAttribute(same, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &reuse));
    ck_assert_int_eq(reuse, 1);
    ck_cuda(cudaFreeAsync((void *)address, NULL));
    ck_cu(cuMemPoolTrimTo(same, 0));
    ck_assert_uint_eq(figure(pool, cudaMemPoolAttrReservedMemCurrent), 0);
}
END_TEST

START_TEST(reset_empties_the_pools)
{
    void *address;
    size_t before;

    begin();
    before = available();
    keep(pool, UINT64_MAX);
    ck_cuda(cudaMallocAsync(&address, GIB(1), NULL));
    ck_cuda(cudaDeviceReset());
    ck_assert_uint_eq(available(), before);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("pool");

    tcase_add_test(tests, figures_follow_what_is_allocated);
    tcase_add_test(tests, a_threshold_keeps_memory_and_trimming_gives_it_back);
    tcase_add_test(tests, what_a_pool_keeps_does_not_make_others_fail);
    tcase_add_test(tests, freed_memory_is_used_again_and_reads_as_zero);
    tcase_add_test(tests, programs_make_pools);
    tcase_add_test(tests, stacks_and_streams_take_what_pools_keep);
    tcase_add_test(tests, access_is_kept);
    tcase_add_test(tests, the_driver_has_the_same_pools);
    tcase_add_test(tests, reset_empties_the_pools);
    return RUN_TESTS(tests);
}
