/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that PyTorch's allocator hands out again: nothing of their last owner is left. */
#include <dlfcn.h>
#include <string.h>

#include "sim-test.h"

enum { CPU = 0, CUDA = 1, FILLED = 0x5a };

/* As PyTorch's allocators report that `block` was handed out, or taken back for negative sizes. */
static void report(void *block, int64_t change, uint16_t device)
{
    static const char symbol[] = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE";
    void (*function)(void *, int64_t, size_t, size_t, uint16_t) =
        (void (*)(void *, int64_t, size_t, size_t, uint16_t))(uintptr_t)dlsym(RTLD_DEFAULT, symbol);

    ck_assert_ptr_nonnull(function);
    function(block, change, 0, 0, device);
}

static char *segment(size_t size)
{
    char *device;

    use_gpu("h100");
    ck_cuda(cudaMalloc((void **)&device, size));
    for (size_t at = 0; at < size; at += MIB(1))
        ck_cuda(cudaMemset(device + at, FILLED, MIB(1)));
    return device;
}

/* All of the segment is as it was filled, but for [start, end), which is zero. */
static void check_hole(const char *device, size_t size, size_t start, size_t end)
{
    char *host = malloc(size), *expected = malloc(size);

    memset(expected, FILLED, size);
    memset(expected + start, 0, end - start);
    ck_cuda(cudaMemcpy(host, device, size, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(memcmp(host, expected, size), 0);
    free(host);
    free(expected);
}

START_TEST(a_block_handed_out_reads_as_zero)
{
    static const struct {
        size_t start, size;
    } blocks[] = {{0, 512},           {MIB(2) - 512, 512},         {512, KIB(64)},
                  {KIB(64), KIB(64)}, {KIB(192) + 512, KIB(1024)}, {0, MIB(2)},
                  {512, MIB(9)},      {MIB(4) - 512, MIB(4)},      {0, MIB(10)}};

    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
        char *device = segment(MIB(10));
        size_t start = blocks[i].start, size = blocks[i].size;

        report(device + start, (int64_t)size, CUDA);
        check_hole(device, MIB(10), start, start + size);
        ck_cuda(cudaFree(device));
    }
}
END_TEST

START_TEST(what_is_copied_to_it_then_stays)
{
    char *device = segment(MIB(4)), back[1000];

    for (int value = 1; value <= 3; value++) {
        report(device, MIB(4), CUDA);
        check_hole(device, MIB(4), 0, MIB(4));
        memset(back, value, sizeof(back));
        ck_cuda(cudaMemcpy(device + KIB(100), back, sizeof(back), cudaMemcpyHostToDevice));
        memset(back, 0, sizeof(back));
        ck_cuda(cudaMemcpy(back, device + KIB(100), sizeof(back), cudaMemcpyDeviceToHost));
        ck_assert_int_eq(back[999], value);
    }
}
END_TEST

START_TEST(only_blocks_that_are_handed_out_on_a_device)
{
    char *device = segment(MIB(2)), host[600];

    memset(host, FILLED, sizeof(host));
    report(device, -(int64_t)MIB(2), CUDA);
    report(host, sizeof(host), CPU);
    check_hole(device, MIB(2), 0, 0);
    for (size_t i = 0; i < sizeof(host); i++)
        ck_assert_int_eq(host[i], FILLED);
    report(device + MIB(1), 512, CUDA | 3 << 8);
    check_hole(device, MIB(2), MIB(1), MIB(1) + 512);
}
END_TEST

START_TEST(large_blocks_commit_nothing)
{
    char *device;
    size_t before;

    use_gpu("b300");
    ck_cuda(cudaMalloc((void **)&device, GIB(200)));
    ck_cuda(cudaMemset(device + GIB(100), FILLED, 1));
    before = resident();
    report(device, GIB(200), CUDA);
    ck_assert_uint_lt(resident(), before + MIB(4));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("blocks");

    tcase_add_test(tests, a_block_handed_out_reads_as_zero);
    tcase_add_test(tests, what_is_copied_to_it_then_stays);
    tcase_add_test(tests, only_blocks_that_are_handed_out_on_a_device);
    tcase_add_test(tests, large_blocks_commit_nothing);
    return RUN_TESTS(tests);
}
