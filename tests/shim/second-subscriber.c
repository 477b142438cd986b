/* SPDX-License-Identifier: Apache-2.0 */
/*
 * second-subscriber: allocates, subscribes to CUPTI as a profiler does, and allocates again: prints
 * how that went, and of how many calls the subscriber was told.
 */
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <stdio.h>

static int calls;

static void hear(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *what)
{
    (void)data;
    (void)domain;
    (void)id;
    (void)what;
    calls++;
}

static int allocate(size_t size)
{
    void *address;
    return cudaMalloc(&address, size) || cudaFree(address);
}

int main(void)
{
    CUpti_SubscriberHandle subscriber;
    cudaFree(NULL);
    int failed = allocate(1000);
    CUptiResult result = cuptiSubscribe(&subscriber, hear, NULL);
    if (!result)
        cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
                            CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020);
    failed |= allocate(2000);
    if (!result)
        cuptiUnsubscribe(subscriber);
    failed |= allocate(3000);
    printf("subscribe %d, told %d\n", (int)result, calls);
    return failed;
}
