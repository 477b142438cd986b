/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "catalogue.h"
#include "sim-test.h"

/* NVML's header is not part of the toolkit that the build asks for. */
struct memory {
    unsigned long long total, free, used;
};
struct process {
    unsigned pid;
    unsigned long long used;
};
int nvmlInit_v2(void);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetHandleByPciBusId_v2(const char *name, void **device);
int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory);
int nvmlDeviceGetName(void *device, char *name, unsigned size);
int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, struct process *processes);
const char *nvmlErrorString(int code);

START_TEST(the_board_is_seen)
{
    const struct sim_gpu *gpu = sim_gpu_find("h100");
    struct memory memory;
    void *device, *same;
    char name[64], pci[32];
    unsigned count;

    use_gpu("h100");
    setenv("CUDASIM_GPUS", "2", 1);
    setenv("CUDA_VISIBLE_DEVICES", "1", 1);
    ck_assert_int_eq(nvmlInit_v2(), 0);
    ck_assert_int_eq(nvmlDeviceGetCount_v2(&count), 0);
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(nvmlDeviceGetHandleByIndex_v2(1, &device), 0);
    ck_assert_int_eq(nvmlDeviceGetHandleByIndex_v2(2, &same), 2);
    ck_assert_int_eq(nvmlDeviceGetName(device, name, sizeof(name)), 0);
    ck_assert_str_eq(name, gpu->product);
    ck_assert_int_eq(nvmlDeviceGetName(device, name, 3), 7);
    ck_cuda(cudaDeviceGetPCIBusId(pci, sizeof(pci), 0));
    ck_assert_int_eq(nvmlDeviceGetHandleByPciBusId_v2(pci, &same), 0);
    ck_assert_ptr_eq(same, device);
    ck_assert_int_eq(nvmlDeviceGetMemoryInfo(device, &memory), 0);
    ck_assert_uint_eq(memory.total, gpu->board);
    ck_assert_uint_eq(memory.free, available() + gpu->context);
    ck_assert_str_eq(nvmlErrorString(0), "Success");
}
END_TEST

START_TEST(the_own_process_is_listed)
{
    struct process process;
    unsigned count = 0;
    void *device, *address;

    use_gpu("t4");
    ck_assert_int_eq(nvmlDeviceGetHandleByIndex_v2(0, &device), 0);
    ck_assert_int_eq(nvmlDeviceGetComputeRunningProcesses(device, &count, NULL), 0);
    ck_assert_uint_eq(count, 0);
    ck_cuda(cudaMalloc(&address, MIB(64)));
    ck_assert_int_eq(nvmlDeviceGetComputeRunningProcesses(device, &count, NULL), 7);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(nvmlDeviceGetComputeRunningProcesses(device, &count, &process), 0);
    ck_assert_uint_eq(process.pid, (unsigned)getpid());
    ck_assert_uint_eq(process.used, sim_gpu_find("t4")->context + MIB(64));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("nvml");

    tcase_add_test(tests, the_board_is_seen);
    tcase_add_test(tests, the_own_process_is_listed);
    return RUN_TESTS(tests);
}
