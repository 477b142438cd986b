/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, errors, streams and events through the runtime. */
#include <string.h>

#include "catalogue.h"
#include "sim-test.h"

START_TEST(properties_come_from_the_catalogue)
{
    const struct sim_gpu *gpu = sim_gpu_at((size_t)_i);
    struct cudaDeviceProp properties;
    int value;

    use_gpu(gpu->name);
    ck_cuda(cudaGetDeviceProperties(&properties, 0));
    ck_assert_str_eq(properties.name, gpu->product);
    ck_assert_uint_eq(properties.totalGlobalMem, gpu->memory);
    ck_assert_int_eq(properties.major, gpu->major);
    ck_assert_int_eq(properties.minor, gpu->minor);
    ck_assert_int_eq(properties.multiProcessorCount, gpu->sms);
    ck_assert_int_eq(properties.l2CacheSize, (int)gpu->l2);
    ck_assert_int_eq(properties.warpSize, 32);
    ck_assert_int_eq(properties.maxThreadsPerMultiProcessor, gpu->threads_per_sm);
    ck_assert_uint_eq(properties.sharedMemPerBlockOptin, gpu->shared_per_block);
    ck_cuda(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    ck_assert_int_eq(value, gpu->sms);
    ck_assert_int_eq(cudaGetDeviceProperties(&properties, 1), cudaErrorInvalidDevice);
}
END_TEST

START_TEST(there_can_be_several_devices)
{
    void *address;
    size_t first;
    int count, device;

    use_gpu("t4");
    setenv("CUDASIM_GPUS", "3", 1);
    ck_cuda(cudaGetDeviceCount(&count));
    ck_assert_int_eq(count, 3);
    first = available();
    ck_cuda(cudaSetDevice(2));
    ck_cuda(cudaGetDevice(&device));
    ck_assert_int_eq(device, 2);
    ck_cuda(cudaMalloc(&address, GIB(1)));
    ck_assert_uint_eq(available(), first - GIB(1));
    ck_cuda(cudaSetDevice(0));
    ck_assert_uint_eq(available(), first);
    ck_assert_int_eq(cudaSetDevice(3), cudaErrorInvalidDevice);
    ck_cuda(cudaFree(address));
    ck_cuda(cudaDeviceCanAccessPeer(&device, 0, 1));
    ck_assert_int_eq(device, 1);
}
END_TEST

static int visible(const char *list)
{
    int count = -1;

    setenv("CUDA_VISIBLE_DEVICES", list, 1);
    cudaGetDeviceCount(&count);
    return count;
}

START_TEST(devices_can_be_hidden)
{
    static const struct {
        const char *list;
        int count;
    } cases[] = {{"", 0},      {"-1", 0},      {"2,0", 2}, {"0", 1},
                 {"1,7,0", 1}, {"0,1,2,3", 4}, {"1,1", 0}, {"x", 0}};

    use_gpu("t4");
    setenv("CUDASIM_GPUS", "4", 1);
    ck_assert_int_eq(visible(cases[_i].list), cases[_i].count);
    if (!cases[_i].count)
        ck_assert_int_eq(cudaFree(NULL), cudaErrorNoDevice);
}
END_TEST

START_TEST(errors_have_names)
{
    use_gpu("t4");
    ck_assert_str_eq(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
    ck_assert_str_eq(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
    ck_assert_str_eq(cudaGetErrorString(cudaSuccess), "no error");
    ck_assert_str_eq(cudaGetErrorString((cudaError_t)12345), "unrecognized error code");
}
END_TEST

static void count_call(void *data)
{
    ++*(int *)data;
}

START_TEST(streams_and_callbacks_work)
{
    cudaStream_t stream;
    enum cudaStreamCaptureStatus status;
    unsigned long long id, other;
    int calls = 0, priority;

    use_gpu("t4");
    ck_cuda(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -3));
    ck_cuda(cudaStreamGetPriority(stream, &priority));
    ck_assert_int_eq(priority, -3);
    ck_cuda(cudaStreamGetId(stream, &id));
    ck_cuda(cudaStreamGetId(cudaStreamLegacy, &other));
    ck_assert_uint_ne(id, other);
    ck_cuda(cudaLaunchHostFunc(stream, count_call, &calls));
    ck_cuda(cudaStreamSynchronize(stream));
    ck_assert_int_eq(calls, 1);
    ck_cuda(cudaStreamQuery(stream));
    ck_cuda(cudaStreamIsCapturing(stream, &status));
    ck_assert_int_eq(status, cudaStreamCaptureStatusNone);
    ck_cuda(cudaStreamDestroy(stream));
    ck_assert_int_eq(cudaStreamDestroy(NULL), cudaErrorInvalidResourceHandle);
}
END_TEST

/* Each record of an event takes a ms: what measures programs finds them equal, in few turns. */
START_TEST(events_measure_records)
{
    cudaEvent_t first, second, untimed;
    float milliseconds = -1;

    use_gpu("t4");
    ck_cuda(cudaEventCreate(&first));
    ck_cuda(cudaEventCreate(&second));
    ck_cuda(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    ck_assert_int_eq(cudaEventElapsedTime(&milliseconds, first, second),
                     cudaErrorInvalidResourceHandle);
    ck_cuda(cudaEventRecord(first, NULL));
    ck_cuda(cudaEventRecord(untimed, NULL));
    ck_cuda(cudaEventRecord(second, NULL));
    ck_cuda(cudaEventSynchronize(second));
    ck_cuda(cudaEventElapsedTime(&milliseconds, first, second));
    ck_assert(milliseconds == 1);
    ck_cuda(cudaEventRecord(second, NULL));
    ck_cuda(cudaEventElapsedTime(&milliseconds, first, second));
    ck_assert(milliseconds == 2);
    ck_cuda(cudaEventElapsedTime(&milliseconds, second, first));
    ck_assert(milliseconds == -2);
    ck_assert_int_eq(cudaEventElapsedTime(&milliseconds, first, untimed),
                     cudaErrorInvalidResourceHandle);
    ck_cuda(cudaEventDestroy(first));
    ck_cuda(cudaEventDestroy(second));
    ck_cuda(cudaEventDestroy(untimed));
}
END_TEST

START_TEST(devices_are_found_by_address)
{
    char name[32];
    int device;

    use_gpu("t4");
    setenv("CUDASIM_GPUS", "2", 1);
    ck_cuda(cudaDeviceGetPCIBusId(name, sizeof(name), 1));
    ck_cuda(cudaDeviceGetByPCIBusId(&device, name));
    ck_assert_int_eq(device, 1);
    ck_assert_int_eq(cudaDeviceGetPCIBusId(name, 4, 1), cudaErrorInvalidValue);
}
END_TEST

START_TEST(peers_are_enabled_once)
{
    CUcontext own, other;
    int can, value;
    void *far;

    use_gpu("h100");
    setenv("CUDASIM_GPUS", "3", 1);
    ck_cuda(cudaDeviceCanAccessPeer(&can, 0, 2));
    ck_assert_int_eq(can, 1);
    ck_cuda(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 2));
    ck_assert_int_eq(value, 1);
    ck_cuda(cudaDeviceEnablePeerAccess(2, 0));
    ck_assert_int_eq(cudaDeviceEnablePeerAccess(2, 0), cudaErrorPeerAccessAlreadyEnabled);
    ck_assert_int_eq(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
    ck_assert_int_eq(cudaDeviceEnablePeerAccess(3, 0), cudaErrorInvalidDevice);
    ck_cuda(cudaDeviceDisablePeerAccess(2));
    ck_assert_int_eq(cudaDeviceDisablePeerAccess(2), cudaErrorPeerAccessNotEnabled);
    ck_cu(cuDevicePrimaryCtxRetain(&own, 0));
    ck_cu(cuDevicePrimaryCtxRetain(&other, 1));
    ck_cu(cuCtxEnablePeerAccess(other, 0));
    ck_assert_int_eq(cuCtxEnablePeerAccess(other, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    ck_assert_int_eq(cuCtxEnablePeerAccess(own, 0), CUDA_ERROR_INVALID_CONTEXT);
    /* Each device has memory of its own, and copies cross. */
    ck_cuda(cudaSetDevice(2));
    ck_cuda(cudaMalloc(&far, MIB(64)));
    ck_assert_uint_eq(available(),
                      sim_gpu_find("h100")->memory - sim_gpu_find("h100")->context - MIB(64));
    ck_cuda(cudaSetDevice(1));
    ck_assert_uint_eq(available(), sim_gpu_find("h100")->memory - sim_gpu_find("h100")->context);
    ck_cuda(cudaMemcpyPeer(far, 2, far, 2, 16));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("device");
    int cards = 0;

    while (sim_gpu_at((size_t)cards))
        cards++;
    tcase_add_loop_test(tests, properties_come_from_the_catalogue, 0, cards);
    tcase_add_test(tests, there_can_be_several_devices);
    tcase_add_loop_test(tests, devices_can_be_hidden, 0, 8);
    tcase_add_test(tests, errors_have_names);
    tcase_add_test(tests, streams_and_callbacks_work);
    tcase_add_test(tests, events_measure_records);
    tcase_add_test(tests, devices_are_found_by_address);
    tcase_add_test(tests, peers_are_enabled_once);
    return RUN_TESTS(tests);
}
