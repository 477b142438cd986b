/* SPDX-License-Identifier: Apache-2.0 */
/* Stream capture and the graphs that come of it. */
#include <pthread.h>

#include "sim-test.h"

static cudaStream_t stream, other;
static int calls;

static void count_call(void *data)
{
    (void)data;
    calls++;
}

static void begin(void)
{
    use_gpu("t4");
    ck_cuda(cudaStreamCreate(&stream));
    ck_cuda(cudaStreamCreate(&other));
    ck_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
}

static enum cudaStreamCaptureStatus status_of(cudaStream_t which)
{
    enum cudaStreamCaptureStatus status;

    ck_cuda(cudaStreamIsCapturing(which, &status));
    return status;
}

START_TEST(callbacks_run_when_the_graph_is_launched)
{
    cudaGraphExec_t executable;
    cudaGraph_t graph;
    size_t nodes;

    begin();
    ck_cuda(cudaLaunchHostFunc(stream, count_call, NULL));
    ck_cuda(cudaStreamEndCapture(stream, &graph));
    ck_assert_int_eq(calls, 0);
    ck_cuda(cudaGraphGetNodes(graph, NULL, &nodes));
    ck_assert_uint_eq(nodes, 1);
    ck_cuda(cudaGraphInstantiate(&executable, graph, 0));
    ck_cuda(cudaGraphDestroy(graph));
    ck_cuda(cudaGraphLaunch(executable, stream));
    ck_cuda(cudaGraphLaunch(executable, stream));
    ck_assert_int_eq(calls, 2);
    ck_cuda(cudaGraphExecDestroy(executable));
}
END_TEST

START_TEST(streams_join_by_events)
{
    unsigned long long id, other_id;
    enum cudaStreamCaptureStatus status;
    cudaGraph_t graph;
    cudaEvent_t event;

    begin();
    ck_cuda(cudaEventCreate(&event));
    ck_assert_int_eq(status_of(other), cudaStreamCaptureStatusNone);
    ck_cuda(cudaEventRecord(event, stream));
    ck_cuda(cudaStreamWaitEvent(other, event, 0));
    ck_cuda(cudaStreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL, NULL));
    ck_cuda(cudaStreamGetCaptureInfo(other, &status, &other_id, NULL, NULL, NULL, NULL));
    ck_assert_int_eq(status, cudaStreamCaptureStatusActive);
    ck_assert_uint_eq(id, other_id);
    ck_assert_int_eq(cudaStreamEndCapture(other, &graph), cudaErrorStreamCaptureUnmatched);
    ck_cuda(cudaStreamEndCapture(stream, &graph));
    ck_assert_int_eq(status_of(other), cudaStreamCaptureStatusNone);
    /* The capture is over: its events carry nothing on. */
    ck_cuda(cudaStreamWaitEvent(other, event, 0));
    ck_assert_int_eq(status_of(other), cudaStreamCaptureStatusNone);
    ck_cuda(cudaGraphDestroy(graph));
    ck_cuda(cudaEventDestroy(event));
}
END_TEST

START_TEST(waiting_spoils_a_capture)
{
    cudaGraph_t graph;

    begin();
    ck_assert_int_eq(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
    ck_assert_int_eq(status_of(stream), cudaStreamCaptureStatusInvalidated);
    ck_assert_int_eq(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    ck_assert_ptr_null(graph);
    ck_assert_int_eq(status_of(stream), cudaStreamCaptureStatusNone);
    ck_cuda(cudaStreamSynchronize(stream));
}
END_TEST

START_TEST(work_becomes_nodes_that_wait_for_each_other)
{
    unsigned char *device, host = 5, back = 0;
    const cudaGraphNode_t *tips;
    enum cudaStreamCaptureStatus status;
    cudaGraphExec_t executable;
    cudaGraphNode_t last;
    cudaEvent_t event;
    cudaGraph_t graph, captured;
    size_t count;

    use_gpu("t4");
    ck_cuda(cudaMalloc((void **)&device, 4096));
    begin();
    ck_cuda(cudaEventCreate(&event));
    ck_cuda(cudaMemcpyAsync(device, &host, 1, cudaMemcpyHostToDevice, stream));
    ck_cuda(cudaEventRecord(event, stream));
    ck_cuda(cudaStreamWaitEvent(other, event, 0));
    ck_cuda(cudaLaunchKernel("kernel", (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, other));
    ck_cuda(cudaMemcpyAsync(&back, device, 1, cudaMemcpyDeviceToHost, stream));
    ck_cuda(cudaEventRecord(event, other));
    ck_cuda(cudaStreamWaitEvent(stream, event, 0));
    ck_cuda(cudaStreamGetCaptureInfo(stream, &status, NULL, &captured, &tips, NULL, &count));
    ck_assert_uint_eq(count, 2);
    ck_cuda(cudaGraphAddEmptyNode(&last, captured, tips, count));
    ck_cuda(cudaStreamUpdateCaptureDependencies(stream, &last, NULL, 1,
                                                cudaStreamSetCaptureDependencies));
    ck_cuda(cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, &tips, NULL, &count));
    ck_assert_uint_eq(count, 1);
    ck_assert_ptr_eq(tips[0], last);
    ck_cuda(cudaStreamEndCapture(stream, &graph));
    ck_assert_ptr_eq(graph, captured);
    ck_cuda(cudaGraphGetNodes(graph, NULL, &count));
    ck_assert_uint_eq(count, 4);
    ck_cuda(cudaGraphGetEdges(graph, NULL, NULL, NULL, &count));
    ck_assert_uint_eq(count, 4);
    ck_assert_uint_eq(back, 0); /* not before it is launched */
    ck_cuda(cudaGraphInstantiate(&executable, graph, 0));
    ck_cuda(cudaGraphLaunch(executable, stream));
    ck_assert_uint_eq(back, 5);
    host = 6;
    ck_cuda(cudaGraphLaunch(executable, stream));
    ck_assert_uint_eq(back, 6);
}
END_TEST

START_TEST(memory_that_is_captured_is_the_graphs)
{
    cudaGraphExec_t executable;
    cudaGraph_t graph;
    size_t before;
    void *address;

    begin();
    before = available();
    ck_cuda(cudaMallocAsync(&address, MIB(10), stream));
    ck_cuda(cudaMemsetAsync(address, 1, 16, stream));
    ck_cuda(cudaFreeAsync(address, stream));
    ck_assert_int_eq(cudaFreeAsync(&before, stream), cudaErrorInvalidValue);
    ck_cuda(cudaStreamEndCapture(stream, &graph));
    ck_assert_uint_eq(available(), before);
    ck_cuda(cudaGraphInstantiate(&executable, graph, 0));
    ck_cuda(cudaGraphLaunch(executable, stream));
    ck_cuda(cudaGraphLaunch(executable, stream));
    ck_assert_uint_eq(before - available(), MIB(32));
    ck_cuda(cudaDeviceGraphMemTrim(0));
    ck_assert_uint_eq(available(), before);
}
END_TEST

START_TEST(work_that_was_not_joined_spoils_the_end)
{
    cudaEvent_t event;
    cudaGraph_t graph;

    begin();
    ck_cuda(cudaEventCreate(&event));
    ck_cuda(cudaEventRecord(event, stream));
    ck_cuda(cudaStreamWaitEvent(other, event, 0));
    ck_cuda(cudaLaunchHostFunc(other, count_call, NULL));
    ck_assert_int_eq(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureUnjoined);
    ck_assert_ptr_null(graph);
    ck_assert_int_eq(status_of(other), cudaStreamCaptureStatusNone);
}
END_TEST

/* The calls that allocate for the whole device, and those that wait. */
static cudaError_t allocate(void)
{
    void *address;

    return cudaMalloc(&address, 512);
}

static cudaError_t allocate_pinned(void)
{
    void *address;

    return cudaMallocHost(&address, 512);
}

static cudaError_t copy_and_wait(void)
{
    char bytes[2] = {0};

    return cudaMemcpy(bytes, bytes + 1, 1, cudaMemcpyHostToHost);
}

static cudaError_t allocate_by_driver(void)
{
    CUdeviceptr address;

    return (cudaError_t)cuMemAlloc(&address, 512);
}

static cudaError_t (*const forbidden[])(void) = {allocate, allocate_pinned, copy_and_wait,
                                                 allocate_by_driver, cudaDeviceSynchronize};

START_TEST(a_capture_forbids_what_is_not_of_a_stream)
{
    cudaGraph_t graph;

    begin();
    ck_assert_int_eq(forbidden[_i](), cudaErrorStreamCaptureUnsupported);
    ck_assert_int_eq(status_of(stream), cudaStreamCaptureStatusInvalidated);
    ck_assert_int_eq(cudaLaunchHostFunc(stream, count_call, NULL),
                     cudaErrorStreamCaptureInvalidated);
    ck_assert_int_eq(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    ck_cuda(forbidden[_i]());
}
END_TEST

START_TEST(a_wait_on_another_device_harms_no_capture)
{
    cudaGraph_t graph;

    use_gpu("t4");
    setenv("CUDASIM_GPUS", "2", 1);
    ck_cuda(cudaStreamCreate(&stream));
    ck_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    ck_cuda(cudaSetDevice(1));
    ck_cuda(cudaDeviceSynchronize());
    ck_assert_int_eq(status_of(stream), cudaStreamCaptureStatusActive);
    ck_cuda(cudaSetDevice(0));
    ck_assert_int_eq(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
    ck_assert_int_eq(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
}
END_TEST

START_TEST(a_thread_may_mind_nobody)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaGraph_t graph;
    void *address;

    begin();
    ck_cuda(cudaThreadExchangeStreamCaptureMode(&mode));
    ck_assert_int_eq(mode, cudaStreamCaptureModeGlobal);
    ck_cuda(cudaMalloc(&address, MIB(2)));
    ck_cuda(cudaThreadExchangeStreamCaptureMode(&mode));
    ck_assert_int_eq(mode, cudaStreamCaptureModeRelaxed);
    ck_assert_int_eq(status_of(stream), cudaStreamCaptureStatusActive);
    ck_cuda(cudaStreamEndCapture(stream, &graph));
}
END_TEST

static void *allocate_elsewhere(void *mode)
{
    void *address;

    ck_cuda(cudaThreadExchangeStreamCaptureMode(mode));
    return (void *)(intptr_t)cudaMalloc(&address, 512);
}

START_TEST(other_threads_mind_global_captures_only)
{
    static const struct {
        enum cudaStreamCaptureMode capture, thread;
        cudaError_t result;
    } cases[] = {
        {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeGlobal,
         cudaErrorStreamCaptureUnsupported},
        {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaSuccess},
        {cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeGlobal, cudaSuccess},
        {cudaStreamCaptureModeRelaxed, cudaStreamCaptureModeGlobal, cudaSuccess},
    };
    enum cudaStreamCaptureMode mode = cases[_i].thread;
    pthread_t thread;
    void *result;

    use_gpu("t4");
    ck_cuda(cudaStreamCreate(&stream));
    ck_cuda(cudaStreamBeginCapture(stream, cases[_i].capture));
    ck_assert_int_eq(pthread_create(&thread, NULL, allocate_elsewhere, &mode), 0);
    pthread_join(thread, &result);
    ck_assert_int_eq((intptr_t)result, cases[_i].result);
}
END_TEST

START_TEST(the_drivers_captures_are_the_same)
{
    CUstreamCaptureStatus status;
    CUgraph graph;
    size_t count;

    use_gpu("t4");
    ck_cuda(cudaStreamCreate(&stream));
    ck_cu(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ck_cu(cuStreamIsCapturing(stream, &status));
    ck_assert_int_eq(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    ck_cu(cuLaunchKernel((CUfunction)8, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    ck_cu(cuLaunchHostFunc(stream, count_call, NULL));
    ck_assert_int_eq(calls, 0);
    ck_cu(cuStreamEndCapture(stream, &graph));
    ck_cuda(cudaGraphGetNodes(graph, NULL, &count));
    ck_assert_uint_eq(count, 2);
}
END_TEST

START_TEST(wrong_captures_are_refused)
{
    cudaGraph_t graph;

    begin();
    ck_assert_int_eq(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal),
                     cudaErrorIllegalState);
    ck_assert_int_eq(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeGlobal),
                     cudaErrorStreamCaptureUnsupported);
    ck_assert_int_eq(cudaStreamEndCapture(other, &graph), cudaErrorIllegalState);
    ck_cuda(cudaStreamDestroy(other));
    ck_cuda(cudaStreamEndCapture(stream, &graph));
    ck_cuda(cudaGraphDestroy(graph));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("graph");

    tcase_add_test(tests, callbacks_run_when_the_graph_is_launched);
    tcase_add_test(tests, streams_join_by_events);
    tcase_add_test(tests, waiting_spoils_a_capture);
    tcase_add_test(tests, wrong_captures_are_refused);
    tcase_add_test(tests, work_becomes_nodes_that_wait_for_each_other);
    tcase_add_test(tests, memory_that_is_captured_is_the_graphs);
    tcase_add_test(tests, work_that_was_not_joined_spoils_the_end);
    tcase_add_loop_test(tests, a_capture_forbids_what_is_not_of_a_stream, 0,
                        sizeof(forbidden) / sizeof(forbidden[0]));
    tcase_add_test(tests, a_wait_on_another_device_harms_no_capture);
    tcase_add_test(tests, a_thread_may_mind_nobody);
    tcase_add_loop_test(tests, other_threads_mind_global_captures_only, 0, 4);
    tcase_add_test(tests, the_drivers_captures_are_the_same);
    return RUN_TESTS(tests);
}
