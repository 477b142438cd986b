/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and fills: what is real, what is not, and what it costs the host. */
#include <string.h>

#include "sim-test.h"

static void check_all(const void *device, size_t size, unsigned char expected)
{
    unsigned char *host = malloc(size);
    size_t good = 0;

    memset(host, ~expected, size);
    ck_cuda(cudaMemcpy(host, device, size, cudaMemcpyDeviceToHost));
    while (good < size && host[good] == expected)
        good++;
    ck_assert_uint_eq(good, size);
    free(host);
}

START_TEST(untouched_memory_is_zero)
{
    static const size_t sizes[] = {1, 512, KIB(100), MIB(1), MIB(5)};

    use_gpu("t4");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        void *address;

        ck_cuda(cudaMalloc(&address, sizes[i]));
        check_all(address, sizes[i], 0);
    }
}
END_TEST

START_TEST(reused_memory_is_zero)
{
    void *keep, *address;

    use_gpu("t4");
    ck_cuda(cudaMalloc(&keep, 512)); /* keeps the page, so that the next ones reuse its rest */
    for (size_t size = 512; size <= KIB(512); size *= 2) {
        ck_cuda(cudaMalloc(&address, size));
        check_all(address, size, 0);
        ck_cuda(cudaMemset(address, 0xab, size));
        check_all(address, size, 0xab);
        ck_cuda(cudaFree(address));
    }
}
END_TEST

START_TEST(small_copies_are_real)
{
    static const enum cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDefault};
    char from[3000], back[3000];
    char *first, *second;

    use_gpu("t4");
    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (char)(i * 7);
    ck_cuda(cudaMalloc((void **)&first, MIB(4)));
    ck_cuda(cudaMalloc((void **)&second, MIB(4)));
    for (size_t i = 0; i < 2; i++) {
        ck_cuda(cudaMemcpy(first + 1000 * i, from, sizeof(from), kinds[i]));
        ck_cuda(cudaMemcpyAsync(second + 5, first + 1000 * i, sizeof(from),
                                cudaMemcpyDeviceToDevice, NULL));
        memset(back, 0, sizeof(back));
        ck_cuda(cudaMemcpy(back, second + 5, sizeof(back), cudaMemcpyDefault));
        ck_assert_mem_eq(back, from, sizeof(from));
    }
}
END_TEST

START_TEST(rows_are_copied)
{
    char from[4][10], back[4][3];
    char *device;
    size_t pitch;

    use_gpu("t4");
    memset(from, 'x', sizeof(from));
    from[3][2] = 'y';
    ck_cuda(cudaMallocPitch((void **)&device, &pitch, 3, 4));
    ck_assert_uint_eq(pitch, 512);
    ck_cuda(cudaMemcpy2D(device, pitch, from, 10, 3, 4, cudaMemcpyHostToDevice));
    ck_cuda(cudaMemcpy2D(back, 3, device, pitch, 3, 4, cudaMemcpyDeviceToHost));
    ck_assert_mem_eq(back[0], "xxx", 3);
    ck_assert_mem_eq(back[3], "xxy", 3);
    ck_assert_int_eq(cudaMemcpy2D(device, 2, from, 10, 3, 4, cudaMemcpyHostToDevice),
                     cudaErrorInvalidValue);
}
END_TEST

START_TEST(large_copies_commit_nothing)
{
    size_t size = MIB(256), before;
    char *host = calloc(1, size);
    char *device;

    use_gpu("h100");
    ck_cuda(cudaMalloc((void **)&device, size));
    memset(host, 1, size);
    before = resident();
    ck_cuda(cudaMemcpy(device, host, size, cudaMemcpyHostToDevice));
    ck_cuda(cudaMemcpy(device, device + MIB(128), MIB(128), cudaMemcpyDeviceToDevice));
    ck_cuda(cudaMemset(device, 0x55, size));
    ck_assert_uint_lt(resident() - before, MIB(4));
    free(host);
}
END_TEST

START_TEST(the_limit_can_be_chosen)
{
    char *host = malloc(MIB(3)), *device;
    char last;

    use_gpu("h100");
    setenv("CUDASIM_COPY_LIMIT", "3145728", 1);
    memset(host, 9, MIB(3));
    ck_cuda(cudaMalloc((void **)&device, MIB(8)));
    ck_cuda(cudaMemcpy(device, host, MIB(3), cudaMemcpyHostToDevice));
    ck_cuda(cudaMemcpy(&last, device + MIB(3) - 1, 1, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(last, 9);
    free(host);
}
END_TEST

START_TEST(untouched_zeros_stay_uncommitted)
{
    size_t before;
    char *host = calloc(1, MIB(1));
    char *device;

    use_gpu("h100");
    ck_cuda(cudaMalloc((void **)&device, MIB(256)));
    memset(host, 0, MIB(1));
    before = resident();
    for (size_t at = 0; at < MIB(256); at += MIB(1)) {
        ck_cuda(cudaMemcpy(device + at, host, MIB(1), cudaMemcpyHostToDevice));
        ck_cuda(cudaMemset(device + at, 0, MIB(1)));
    }
    ck_assert_uint_lt(resident() - before, MIB(4));
    free(host);
}
END_TEST

START_TEST(zeroing_a_large_block_works)
{
    char *device;

    use_gpu("t4");
    ck_cuda(cudaMalloc((void **)&device, MIB(16)));
    ck_cuda(cudaMemset(device + MIB(5) - 3, 0x77, 100));
    ck_cuda(cudaMemset(device + 1, 0, MIB(16) - 1));
    check_all(device, MIB(16), 0);
}
END_TEST

START_TEST(wide_fills_have_their_pattern)
{
    CUdeviceptr device;
    uint32_t words[4];
    uint16_t halves[4];

    use_gpu("t4");
    ck_cuda(cudaFree(NULL));
    ck_cu(cuMemAlloc(&device, 64));
    ck_cu(cuMemsetD32(device, 0x12345678, 4));
    ck_cu(cuMemcpyDtoH(words, device, sizeof(words)));
    ck_assert_uint_eq(words[3], 0x12345678);
    ck_cu(cuMemsetD16(device, 0xbeef, 4));
    ck_cu(cuMemcpyDtoH(halves, device, sizeof(halves)));
    ck_assert_uint_eq(halves[3], 0xbeef);
    ck_cu(cuMemcpyDtoH(words, device, sizeof(words)));
    ck_assert_uint_eq(words[2], 0x12345678);
}
END_TEST

START_TEST(wrong_addresses_are_refused)
{
    char own[64] = "host";
    char *device;

    use_gpu("t4");
    ck_cuda(cudaMalloc((void **)&device, MIB(2)));
    ck_assert_int_eq(cudaMemcpy(own, own + 32, 8, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaMemcpy(device + MIB(2) - 4, own, 8, cudaMemcpyHostToDevice),
                     cudaErrorInvalidValue);
    ck_assert_int_eq(cudaMemset(own, 0, 8), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaMemcpy(device, own, 8, (enum cudaMemcpyKind)99),
                     cudaErrorInvalidMemcpyDirection);
    ck_assert_str_eq(own, "host");
    ck_cuda(cudaFree(device));
    ck_assert_int_eq(cudaMemcpy(own, device, 8, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("content");

    tcase_add_test(tests, untouched_memory_is_zero);
    tcase_add_test(tests, reused_memory_is_zero);
    tcase_add_test(tests, small_copies_are_real);
    tcase_add_test(tests, rows_are_copied);
    tcase_add_test(tests, large_copies_commit_nothing);
    tcase_add_test(tests, the_limit_can_be_chosen);
    tcase_add_test(tests, untouched_zeros_stay_uncommitted);
    tcase_add_test(tests, zeroing_a_large_block_works);
    tcase_add_test(tests, wide_fills_have_their_pattern);
    tcase_add_test(tests, wrong_addresses_are_refused);
    return RUN_TESTS(tests);
}
