/* SPDX-License-Identifier: Apache-2.0 */
/* Stream capture and the graphs that come of it. */
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
    return run_tests(tests);
}
