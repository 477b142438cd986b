/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool-states ROUTE: changes memory pools of CUDA's and runs out of memory, and prints what a trace
 * is to have of the pools whenever it does: "which threshold reserved used most_reserved
 * most_used".
 */
#include "routes.h"

#include <stdlib.h>

static CUmemoryPool own;

static void check(int result, const char *call)
{
    if (result)
        printf("failed %s %d\n", call, result);
}
#define CHECK(call) check((int)(call), #call)

static void say(cudaMemPool_t pool)
{
    static const enum cudaMemPoolAttr attributes[] = {
        cudaMemPoolAttrReleaseThreshold, cudaMemPoolAttrReservedMemCurrent,
        cudaMemPoolAttrUsedMemCurrent, cudaMemPoolAttrReservedMemHigh, cudaMemPoolAttrUsedMemHigh};
    printf("%s", (CUmemoryPool)pool == own ? "own" : "default");
    for (unsigned i = 0; i < 5; i++) {
        uint64_t value;
        CHECK(cudaMemPoolGetAttribute(pool, attributes[i], &value));
        printf(" %llu", (unsigned long long)value);
    }
    putchar('\n');
}

static __attribute__((noinline)) void set_threshold(cudaMemPool_t pool, uint64_t bytes)
{
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes));
    say(pool);
}

static void use_default(cudaMemPool_t pool)
{
    void *memory;
    set_threshold(pool, 40 * MIB);
    CHECK(cudaMallocAsync(&memory, 100 * MIB, NULL));
    CHECK(cudaFreeAsync(memory, NULL));
    CHECK(cudaDeviceSynchronize());
    say(pool);
    CHECK(DRIVER("cuMemPoolTrimTo", cuMemPoolTrimTo)((CUmemoryPool)pool, 0));
    say(pool);
}

static void use_own(void **memory)
{
    CUmemPoolProps wanted = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    cuuint64_t zero = 0, all = UINT64_MAX;
    CHECK(DRIVER("cuMemPoolCreate", cuMemPoolCreate)(&own, &wanted));
    say((cudaMemPool_t)own);
    CHECK(DRIVER("cuMemPoolSetAttribute",
                 cuMemPoolSetAttribute)(own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
    say((cudaMemPool_t)own);
    CHECK(cudaMallocFromPoolAsync(&memory[0], 30 * MIB, (cudaMemPool_t)own, NULL));
    CHECK(cudaMallocFromPoolAsync(&memory[1], 10 * MIB, (cudaMemPool_t)own, NULL));
    CHECK(cudaFreeAsync(memory[0], NULL));
    say((cudaMemPool_t)own);
    CHECK(DRIVER("cuMemPoolSetAttribute", cuMemPoolSetAttribute)(own, CU_MEMPOOL_ATTR_USED_MEM_HIGH,
                                                                 &zero));
}

int main(int count, char **arguments)
{
    cudaMemPool_t pool;
    void *memory[2], *none;
    route = count > 1 ? arguments[1] : "linked";
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    use_default(pool);
    use_own(memory);
    if (cudaMalloc(&none, (size_t)1 << 60) != cudaErrorMemoryAllocation)
        puts("failed to run out of memory");
    say(pool);
    say((cudaMemPool_t)own);
    CHECK(cudaFreeAsync(memory[1], NULL));
    say((cudaMemPool_t)own);
    CHECK(DRIVER("cuMemPoolDestroy", cuMemPoolDestroy)(own));
    own = NULL;
    say(pool); /* at the end */
    return 0;
}
