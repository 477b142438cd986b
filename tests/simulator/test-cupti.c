/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of the simulated libcupti. */
#include <cupti.h>
#include <string.h>

#include "sim-test.h"

enum { MOST = 64 };

/* What was reported, in order. */
static struct {
    CUpti_CallbackDomain domain;
    CUpti_CallbackId id;
    CUpti_ApiCallbackSite site;
    char name[48];
    size_t size;
    void *address; /* that the call had given when it returned */
    int result;
    uint32_t correlation;
    uint64_t data;
} seen[MOST];
static int count;

static void hear(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *what)
{
    const CUpti_CallbackData *call = what;

    ck_assert_str_eq(data, "mine");
    ck_assert_int_lt(count, MOST);
    seen[count].domain = domain;
    seen[count].id = id;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
        count++;
        return;
    }
    seen[count].site = call->callbackSite;
    strncpy(seen[count].name, call->functionName, sizeof(seen[count].name) - 1);
    seen[count].correlation = call->correlationId;
    if (call->callbackSite == CUPTI_API_ENTER) {
        *call->correlationData = (uint64_t)count + 100;
        ck_assert_ptr_null(call->functionReturnValue);
    } else {
        seen[count].data = *call->correlationData;
        seen[count].result = *(const int *)call->functionReturnValue;
    }
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && id == CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020) {
        const cudaMalloc_v3020_params *parameters = call->functionParams;

        seen[count].size = parameters->size;
        seen[count].address = call->callbackSite == CUPTI_API_EXIT ? *parameters->devPtr : NULL;
    }
    count++;
}

static CUpti_SubscriberHandle subscriber;

static void begin(void)
{
    use_gpu("t4");
    available();
    ck_assert_int_eq(cuptiSubscribe(&subscriber, hear, (void *)(uintptr_t) "mine"), CUPTI_SUCCESS);
}

static void want(CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    ck_assert_int_eq(cuptiEnableCallback(1, subscriber, domain, id), CUPTI_SUCCESS);
}

START_TEST(calls_are_reported_before_and_after)
{
    void *address, *none;

    begin();
    want(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020);
    ck_cuda(cudaMalloc(&address, 12345));
    ck_cuda(cudaFree(address)); /* no callback is subscribed for that */
    ck_assert_int_eq(count, 2);
    ck_assert_int_eq(seen[0].site, CUPTI_API_ENTER);
    ck_assert_str_eq(seen[0].name, "cudaMalloc");
    ck_assert_uint_eq(seen[0].size, 12345);
    ck_assert_int_eq(seen[1].site, CUPTI_API_EXIT);
    ck_assert_ptr_eq(seen[1].address, address);
    ck_assert_int_eq(seen[1].result, cudaSuccess);
    ck_assert_uint_eq(seen[1].correlation, seen[0].correlation);
    ck_assert_uint_eq(seen[1].data, 100);
    ck_assert_int_eq(cudaMalloc(&none, GIB(100)), cudaErrorMemoryAllocation);
    ck_assert_int_eq(seen[3].result, cudaErrorMemoryAllocation);
    ck_assert_uint_ne(seen[3].correlation, seen[1].correlation);
}
END_TEST

START_TEST(the_drivers_call_is_inside_the_runtimes)
{
    void *address;

    begin();
    ck_assert_int_eq(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API), CUPTI_SUCCESS);
    ck_assert_int_eq(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API), CUPTI_SUCCESS);
    ck_cuda(cudaMalloc(&address, 4096));
    ck_assert_int_eq(count, 4);
    ck_assert_str_eq(seen[0].name, "cudaMalloc");
    ck_assert_str_eq(seen[1].name, "cuMemAlloc_v2");
    ck_assert_int_eq(seen[1].domain, CUPTI_CB_DOMAIN_DRIVER_API);
    ck_assert_int_eq(seen[2].site, CUPTI_API_EXIT);
    ck_assert_int_eq(seen[2].domain, CUPTI_CB_DOMAIN_DRIVER_API);
    ck_assert_int_eq(seen[3].domain, CUPTI_CB_DOMAIN_RUNTIME_API);
}
END_TEST

/* One call of each kind of memory, and its names in CUPTI. */
static void allocate_every_way(void)
{
    CUmemAllocationProp piece = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr reserved;
    void *address;

    ck_cuda(cudaMallocManaged(&address, 4096, cudaMemAttachGlobal));
    ck_cuda(cudaFree(address));
    ck_cuda(cudaMallocHost(&address, 4096));
    ck_cuda(cudaFreeHost(address));
    ck_cuda(cudaMallocAsync(&address, 4096, NULL));
    ck_cuda(cudaFreeAsync(address, NULL));
    ck_cu(cuMemCreate(&handle, MIB(2), &piece, 0));
    ck_cu(cuMemAddressReserve(&reserved, MIB(2), 0, 0, 0));
    ck_cu(cuMemMap(reserved, MIB(2), 0, handle, 0));
    ck_cu(cuMemUnmap(reserved, MIB(2)));
    ck_cu(cuMemRelease(handle));
}

START_TEST(every_way_to_allocate_is_reported)
{
    static const char *const names[] = {
        "cudaMallocManaged", "cuMemAllocManaged",   "cudaFree",      "cuMemFree_v2",
        "cudaMallocHost",    "cuMemHostAlloc",      "cudaFreeHost",  "cuMemFreeHost",
        "cudaMallocAsync",   "cuMemAllocAsync",     "cudaFreeAsync", "cuMemFreeAsync",
        "cuMemCreate",       "cuMemAddressReserve", "cuMemMap",      "cuMemUnmap",
        "cuMemRelease",
    };
    int found = 0;

    begin();
    ck_assert_int_eq(cuptiEnableAllDomains(1, subscriber), CUPTI_SUCCESS);
    allocate_every_way();
    for (int i = 0; i < count; i++)
        if (seen[i].site == CUPTI_API_ENTER && seen[i].domain != CUPTI_CB_DOMAIN_RESOURCE) {
            const char *name;

            ck_assert_int_lt(found, 17);
            ck_assert_str_eq(seen[i].name, names[found++]);
            ck_assert_int_eq(cuptiGetCallbackName(seen[i].domain, seen[i].id, &name),
                             CUPTI_SUCCESS);
            ck_assert_int_eq(strncmp(name, seen[i].name, strlen(seen[i].name)), 0);
        }
    ck_assert_int_eq(found, 17);
}
END_TEST

START_TEST(contexts_and_streams_are_reported)
{
    cudaStream_t stream;

    use_gpu("t4");
    ck_assert_int_eq(cuptiSubscribe(&subscriber, hear, (void *)(uintptr_t) "mine"), CUPTI_SUCCESS);
    ck_assert_int_eq(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE), CUPTI_SUCCESS);
    ck_cuda(cudaFree(NULL));
    ck_cuda(cudaStreamCreate(&stream));
    ck_cuda(cudaStreamDestroy(stream));
    ck_cuda(cudaDeviceReset());
    ck_assert_int_eq(count, 5);
    ck_assert_uint_eq(seen[0].id, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED);
    ck_assert_uint_eq(seen[1].id, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
    ck_assert_uint_eq(seen[2].id, CUPTI_CBID_RESOURCE_STREAM_CREATED);
    ck_assert_uint_eq(seen[3].id, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING);
    ck_assert_uint_eq(seen[4].id, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
}
END_TEST

START_TEST(there_is_one_subscriber)
{
    CUpti_SubscriberHandle other;
    void *address;
    uint32_t on;

    begin();
    ck_assert_int_eq(cuptiSubscribe(&other, hear, NULL),
                     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    ck_assert_int_eq(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, 39);
    ck_assert_int_eq(cuptiGetLastError(), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    ck_assert_int_eq(cuptiGetLastError(), CUPTI_SUCCESS);
    want(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020);
    ck_assert_int_eq(cuptiGetCallbackState(&on, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
                                           CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020),
                     CUPTI_SUCCESS);
    ck_assert_uint_eq(on, 1);
    ck_assert_int_eq(cuptiUnsubscribe(subscriber), CUPTI_SUCCESS);
    ck_assert_int_eq(cuptiUnsubscribe(subscriber), CUPTI_ERROR_INVALID_PARAMETER);
    ck_cuda(cudaMalloc(&address, 4096));
    ck_assert_int_eq(count, 0);
    ck_assert_int_eq(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, 20),
                     CUPTI_ERROR_INVALID_PARAMETER);
    ck_assert_int_eq(cuptiSubscribe(&other, hear, (void *)(uintptr_t) "mine"), CUPTI_SUCCESS);
    ck_cuda(cudaMalloc(&address, 4096)); /* begins with nothing enabled */
    ck_assert_int_eq(count, 0);
}
END_TEST

START_TEST(wrong_questions_are_refused)
{
    const char *name;

    begin();
    ck_assert_int_eq(cuptiSubscribe(NULL, hear, NULL), CUPTI_ERROR_INVALID_PARAMETER);
    ck_assert_int_eq(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_INVALID, 1),
                     CUPTI_ERROR_INVALID_PARAMETER);
    ck_assert_int_eq(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, 1023, &name),
                     CUPTI_ERROR_INVALID_PARAMETER);
}
END_TEST

/* injected.c counts itself in the environment. */
START_TEST(a_library_is_injected_once)
{
    use_gpu("t4");
    setenv("CUDA_INJECTION64_PATH", getenv("SIM_TEST_INJECTED"), 1);
    ck_cuda(cudaFree(NULL));
    ck_cu(cuInit(0));
    ck_assert_str_eq(getenv("SIM_TEST_WAS_INJECTED"), "1");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("cupti");

    tcase_add_test(tests, calls_are_reported_before_and_after);
    tcase_add_test(tests, the_drivers_call_is_inside_the_runtimes);
    tcase_add_test(tests, every_way_to_allocate_is_reported);
    tcase_add_test(tests, contexts_and_streams_are_reported);
    tcase_add_test(tests, there_is_one_subscriber);
    tcase_add_test(tests, wrong_questions_are_refused);
    tcase_add_test(tests, a_library_is_injected_once);
    return RUN_TESTS(tests);
}
