/* SPDX-License-Identifier: Apache-2.0 */
/* What compiled programs register, and which queries about kernels work. */
#include <string.h>

#include "sim-test.h"

void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, void *thread, void *block, void *block_limit,
                            void *grid, int *warp_size);
void __cudaRegisterVar(void **handle, char *host, char *device_address, const char *device_name,
                       int external, size_t size, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device_address,
                              const char *device_name, int external, size_t size, int constant,
                              int global);
void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t size);
char __cudaInitModule(void **handle);
cudaError_t __cudaLaunchKernel_ptsz(const void *kernel, dim3 grid, dim3 block, void **arguments,
                                    size_t shared, cudaStream_t stream);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);

struct image {
    uint16_t kind, attributes;
    uint32_t header_size;
    uint64_t size;
    uint32_t compressed, options;
    uint16_t minor, major;
    uint32_t architecture;
    uint32_t more[8];
    char payload[8];
};

static struct {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size;
    struct image images[3];
} list = {0xba55ed50,
          1,
          16,
          3 * sizeof(struct image),
          {{2, 0, 64, 8, 0, 0, 0, 0, 80, {0}, ""},
           {2, 0, 64, 8, 0, 0, 0, 0, 90, {0}, ""},
           {1, 0, 64, 8, 0, 0, 0, 0, 90, {0}, ""}}};

static struct {
    uint32_t magic, version;
    void *list;
    void *unused;
} wrapper = {0x466243b1, 1, &list, NULL};

static char kernel, variable;

static void register_program(void)
{
    void **handle = __cudaRegisterFatBinary(&wrapper);

    __cudaRegisterFunction(handle, &kernel, NULL, "_Z6kernelv", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterVar(handle, &variable, NULL, "variable", 0, 100, 0, 0);
}

START_TEST(a_kernel_has_the_image_that_the_card_runs)
{
    static const struct {
        const char *gpu;
        cudaError_t error;
        int ptx, binary;
    } cases[] = {{"a100-40g", cudaSuccess, 80, 80},
                 {"rtx4090", cudaSuccess, 80, 80},
                 {"h200", cudaSuccess, 90, 90},
                 {"b200", cudaSuccess, 90, 100},
                 {"t4", cudaErrorNoKernelImageForDevice, 0, 0}};
    struct cudaFuncAttributes attributes = {0};
    const char *name;

    use_gpu(cases[_i].gpu);
    register_program();
    ck_assert_int_eq(cudaFuncGetAttributes(&attributes, &kernel), cases[_i].error);
    ck_assert_int_eq(attributes.ptxVersion, cases[_i].ptx);
    ck_assert_int_eq(attributes.binaryVersion, cases[_i].binary);
    ck_cuda(cudaFuncGetName(&name, &kernel));
    ck_assert_str_eq(name, "_Z6kernelv");
}
END_TEST

START_TEST(variables_have_memory)
{
    char back[100], text[6] = "hello";
    void *address;
    size_t size;

    use_gpu("t4");
    register_program();
    ck_cuda(cudaGetSymbolSize(&size, &variable));
    ck_assert_uint_eq(size, 100);
    ck_cuda(cudaMemcpyToSymbol(&variable, text, sizeof(text), 50, cudaMemcpyHostToDevice));
    ck_cuda(cudaGetSymbolAddress(&address, &variable));
    ck_cuda(cudaMemcpy(back, address, sizeof(back), cudaMemcpyDefault));
    ck_assert_str_eq(back + 50, "hello");
    ck_assert_int_eq(back[0], 0);
    ck_assert_int_eq(cudaMemcpyToSymbol(&variable, back, 60, 50, cudaMemcpyHostToDevice),
                     cudaErrorInvalidValue);
    ck_assert_int_eq(cudaGetSymbolAddress(&address, &kernel), cudaErrorInvalidSymbol);
}
END_TEST

/* torchvision's library has these calls, of nvcc 13: without one of them it does not load. */
START_TEST(managed_variables_are_there_before_the_first_call)
{
    static char *managed;
    char host_variable, back[8];
    void *address;

    use_gpu("t4");
    void **handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterHostVar(handle, "host_variable", &host_variable, 1);
    __cudaRegisterManagedVar(handle, (void **)&managed, NULL, "managed", 0, 8, 0, 0);
    ck_assert_int_eq(__cudaInitModule(handle), 1);
    strcpy(managed, "hello");
    ck_cuda(cudaGetSymbolAddress(&address, &managed));
    ck_assert_ptr_eq(address, managed);
    ck_cuda(cudaMemcpyFromSymbol(back, &managed, 6, 0, cudaMemcpyDeviceToHost));
    ck_assert_str_eq(back, "hello");
    ck_cuda(__cudaLaunchKernel_ptsz(&kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, NULL));
}
END_TEST

START_TEST(launches_do_nothing_and_succeed)
{
    dim3 grid = {1, 2, 3}, block = {32, 1, 1}, grid_back, block_back;
    cudaStream_t stream = (cudaStream_t)4711, stream_back;
    size_t shared;
    int blocks;

    use_gpu("h100");
    register_program();
    ck_assert_uint_eq(__cudaPushCallConfiguration(grid, block, 48, stream), 0);
    ck_cuda(__cudaPopCallConfiguration(&grid_back, &block_back, &shared, &stream_back));
    ck_assert_uint_eq(grid_back.z, 3);
    ck_assert_uint_eq(block_back.x, 32);
    ck_assert_uint_eq(shared, 48);
    ck_assert_ptr_eq(stream_back, stream);
    ck_cuda(cudaLaunchKernel(&kernel, grid, block, NULL, 0, NULL));
    ck_cuda(cudaDeviceSynchronize());
    ck_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &kernel, 256, 0));
    ck_assert_int_eq(blocks, 8);
    ck_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &kernel, 1024, KIB(200)));
    ck_assert_int_eq(blocks, 1);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("kernel");

    tcase_add_loop_test(tests, a_kernel_has_the_image_that_the_card_runs, 0, 5);
    tcase_add_test(tests, variables_have_memory);
    tcase_add_test(tests, managed_variables_are_there_before_the_first_call);
    tcase_add_test(tests, launches_do_nothing_and_succeed);
    return RUN_TESTS(tests);
}
