/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose default stream is each thread's: the headers give it other names of the calls. */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include <dlfcn.h>

#include "sim-test.h"

START_TEST(the_other_names_do_the_same)
{
    unsigned value = 5, back = 0;
    CUdeviceptr driver;
    void *address;

    use_gpu("t4");
    ck_cuda(cudaMallocAsync(&address, 4096, NULL));
    ck_cuda(cudaMemcpyAsync(address, &value, sizeof(value), cudaMemcpyHostToDevice, NULL));
    ck_cuda(cudaMemcpy(&back, address, sizeof(back), cudaMemcpyDeviceToHost));
    ck_assert_uint_eq(back, 5);
    ck_cuda(cudaFreeAsync(address, NULL));
    ck_cuda(cudaStreamSynchronize(NULL));
    ck_cu(cuMemAlloc(&driver, 4096));
    ck_cu(cuMemsetD32(driver, 9, 1));
    ck_cu(cuMemcpyDtoH(&back, driver, sizeof(back)));
    ck_assert_uint_eq(back, 9);
    ck_assert_ptr_ne(dlsym(RTLD_DEFAULT, "cudaMemcpyAsync_ptsz"), NULL);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("per-thread");

    tcase_add_test(tests, the_other_names_do_the_same);
    return RUN_TESTS(tests);
}
