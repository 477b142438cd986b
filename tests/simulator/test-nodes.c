/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs that are built node by node, and what a launch does. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim-test.h"

static cudaGraph_t graph;
static cudaGraphExec_t executable;
static char order[16];

static void note(void *letter)
{
    size_t length = strlen(order);

    order[length] = *(const char *)letter;
    order[length + 1] = '\0';
}

static struct cudaHostNodeParams call(const char *letter)
{
    return (struct cudaHostNodeParams){.fn = note, .userData = (void *)(uintptr_t)letter};
}

static cudaGraphNode_t add_call(const char *letter, const cudaGraphNode_t *before, size_t count)
{
    struct cudaHostNodeParams parameters = call(letter);
    cudaGraphNode_t node;

    ck_cuda(cudaGraphAddHostNode(&node, graph, before, count, &parameters));
    return node;
}

static void begin(void)
{
    use_gpu("t4");
    available();
    order[0] = '\0';
    ck_cuda(cudaGraphCreate(&graph, 0));
}

static void launch(void)
{
    if (!executable)
        ck_cuda(cudaGraphInstantiate(&executable, graph, 0));
    ck_cuda(cudaGraphLaunch(executable, NULL));
}

START_TEST(nodes_run_after_those_they_wait_for)
{
    cudaGraphNode_t a, b, c, nodes[4], from[4], to[4];
    size_t count;

    begin();
    c = add_call("c", NULL, 0);
    a = add_call("a", NULL, 0);
    b = add_call("b", &a, 1);
    ck_cuda(cudaGraphAddDependencies(graph, &b, &c, NULL, 1));
    ck_assert_int_eq(cudaGraphAddDependencies(graph, &c, &a, NULL, 1), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaGraphAddDependencies(graph, &b, &c, NULL, 1), cudaErrorInvalidValue);
    launch();
    ck_assert_str_eq(order, "abc");

    ck_cuda(cudaGraphGetNodes(graph, NULL, &count));
    ck_assert_uint_eq(count, 3);
    count = 4;
    ck_cuda(cudaGraphGetRootNodes(graph, nodes, &count));
    ck_assert_uint_eq(count, 1);
    ck_assert_ptr_eq(nodes[0], a);
    ck_assert_ptr_null(nodes[1]);
    count = 4;
    ck_cuda(cudaGraphGetEdges(graph, from, to, NULL, &count));
    ck_assert_uint_eq(count, 2);
    count = 4;
    ck_cuda(cudaGraphNodeGetDependentNodes(b, nodes, NULL, &count));
    ck_assert_uint_eq(count, 1);
    ck_assert_ptr_eq(nodes[0], c);
    ck_cuda(cudaGraphNodeGetDependencies(b, NULL, NULL, &count));
    ck_assert_uint_eq(count, 1);

    ck_cuda(cudaGraphRemoveDependencies(graph, &b, &c, NULL, 1));
    ck_cuda(cudaGraphDestroyNode(b));
    ck_cuda(cudaGraphGetEdges(graph, NULL, NULL, NULL, &count));
    ck_assert_uint_eq(count, 0);
    launch(); /* the executable graph is as it was */
    ck_assert_str_eq(order, "abcabc");
}
END_TEST

START_TEST(copies_and_fills_are_done_by_the_launch)
{
    struct cudaMemsetParams fill = {.value = 0x0102, .elementSize = 2, .width = 4, .height = 2};
    struct cudaMemcpy3DParms known;
    enum cudaGraphNodeType type;
    cudaGraphNode_t node, last;
    unsigned char *device, back[16] = {0};

    begin();
    ck_cuda(cudaMalloc((void **)&device, 4096));
    fill.dst = device;
    fill.pitch = 8;
    ck_cuda(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &fill));
    ck_cuda(
        cudaGraphAddMemcpyNode1D(&last, graph, &node, 1, back, device, 16, cudaMemcpyDeviceToHost));
    ck_assert_uint_eq(back[0], 0);
    launch();
    ck_assert_uint_eq(back[14], 2);
    ck_assert_uint_eq(back[15], 1);
    ck_cuda(cudaGraphNodeGetType(last, &type));
    ck_assert_int_eq(type, cudaGraphNodeTypeMemcpy);
    ck_cuda(cudaGraphMemcpyNodeGetParams(last, &known));
    ck_assert_ptr_eq(known.srcPtr.ptr, device);
    ck_assert_uint_eq(known.extent.width, 16);
    ck_assert_int_eq(known.kind, cudaMemcpyDeviceToHost);

    fill.value = 0x0909;
    ck_cuda(cudaGraphExecMemsetNodeSetParams(executable, node, &fill));
    launch();
    ck_assert_uint_eq(back[0], 9);
    ck_cuda(cudaGraphNodeSetEnabled(executable, last, 0));
    fill.value = 0;
    ck_cuda(cudaGraphExecMemsetNodeSetParams(executable, node, &fill));
    launch();
    ck_assert_uint_eq(back[0], 9);
    fill.elementSize = 3;
    ck_assert_int_eq(cudaGraphMemsetNodeSetParams(node, &fill), cudaErrorInvalidValue);
}
END_TEST

START_TEST(clones_and_updates)
{
    struct cudaHostNodeParams other = call("x");
    cudaGraphExecUpdateResultInfo info;
    cudaGraph_t clone;
    cudaGraphNode_t a, same;

    begin();
    a = add_call("a", NULL, 0);
    launch();
    ck_cuda(cudaGraphClone(&clone, graph));
    ck_cuda(cudaGraphNodeFindInClone(&same, a, clone));
    ck_assert_ptr_ne(same, a);
    ck_cuda(cudaGraphHostNodeSetParams(same, &other));
    ck_cuda(cudaGraphExecUpdate(executable, clone, &info));
    ck_assert_int_eq(info.result, cudaGraphExecUpdateSuccess);
    launch();
    ck_assert_str_eq(order, "ax");
    add_call("b", &a, 1);
    ck_assert_int_eq(cudaGraphExecUpdate(executable, graph, &info),
                     cudaErrorGraphExecUpdateFailure);
    ck_assert_int_eq(info.result, cudaGraphExecUpdateErrorTopologyChanged);
    launch();
    ck_assert_str_eq(order, "axx");
}
END_TEST

START_TEST(a_graph_in_a_graph)
{
    cudaGraph_t outer, inside;
    cudaGraphNode_t node;
    size_t count;

    begin();
    add_call("i", NULL, 0);
    ck_cuda(cudaGraphCreate(&outer, 0));
    ck_cuda(cudaGraphAddChildGraphNode(&node, outer, NULL, 0, graph));
    add_call("j", NULL, 0); /* comes too late */
    ck_cuda(cudaGraphChildGraphNodeGetGraph(node, &inside));
    ck_cuda(cudaGraphGetNodes(inside, NULL, &count));
    ck_assert_uint_eq(count, 1);
    ck_cuda(cudaGraphInstantiate(&executable, outer, 0));
    launch();
    ck_assert_str_eq(order, "i");
}
END_TEST

static uint64_t graph_memory(enum cudaGraphMemAttributeType attribute)
{
    uint64_t value;

    ck_cuda(cudaDeviceGetGraphMemAttribute(0, attribute, &value));
    return value;
}

START_TEST(memory_is_there_from_launch_to_free)
{
    struct cudaMemAllocNodeParams memory = {
        .poolProps = {.allocType = cudaMemAllocationTypePinned,
                      .location = {cudaMemLocationTypeDevice, 0}},
        .bytesize = MIB(40)};
    struct cudaPointerAttributes attributes;
    cudaGraphNode_t node, last;
    size_t before;

    begin();
    before = available();
    ck_cuda(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &memory));
    ck_assert_ptr_nonnull(memory.dptr);
    ck_cuda(cudaPointerGetAttributes(&attributes, memory.dptr));
    ck_assert_int_eq(attributes.type, cudaMemoryTypeDevice);
    ck_assert_uint_eq(available(), before);
    launch();
    ck_assert_uint_eq(before - available(), MIB(64));
    ck_assert_uint_eq(graph_memory(cudaGraphMemAttrUsedMemCurrent), MIB(40));
    ck_assert_int_eq(cudaGraphLaunch(executable, NULL), cudaErrorInvalidValue);
    ck_cuda(cudaFree(memory.dptr));
    ck_assert_int_eq(cudaFree(memory.dptr), cudaErrorInvalidValue);
    ck_assert_uint_eq(graph_memory(cudaGraphMemAttrUsedMemCurrent), 0);
    ck_assert_uint_eq(graph_memory(cudaGraphMemAttrReservedMemCurrent), MIB(64));
    ck_cuda(cudaDeviceGraphMemTrim(0));
    ck_assert_uint_eq(available(), before);

    ck_cuda(cudaGraphAddMemFreeNode(&last, graph, &node, 1, memory.dptr));
    ck_cuda(cudaGraphExecDestroy(executable));
    executable = NULL;
    launch();
    launch();
    ck_assert_uint_eq(graph_memory(cudaGraphMemAttrUsedMemCurrent), 0);
    ck_assert_uint_eq(graph_memory(cudaGraphMemAttrUsedMemHigh), MIB(40));
    ck_cuda(cudaGraphExecDestroy(executable));
    ck_cuda(cudaGraphDestroy(graph));
    ck_cuda(cudaPointerGetAttributes(&attributes, memory.dptr));
    ck_assert_int_eq(attributes.type, cudaMemoryTypeUnregistered);
    ck_assert_int_eq(cudaGraphAddMemFreeNode(&last, graph, NULL, 0, order), cudaErrorInvalidValue);
}
END_TEST

START_TEST(memory_beyond_the_card_fails_the_launch)
{
    struct cudaMemAllocNodeParams memory = {
        .poolProps = {.allocType = cudaMemAllocationTypePinned,
                      .location = {cudaMemLocationTypeDevice, 0}},
        .bytesize = GIB(20)};
    cudaGraphNode_t node;

    begin();
    ck_cuda(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &memory));
    ck_cuda(cudaGraphInstantiate(&executable, graph, 0));
    ck_assert_int_eq(cudaGraphLaunch(executable, NULL), cudaErrorMemoryAllocation);
}
END_TEST

START_TEST(nodes_by_one_structure)
{
    struct cudaGraphNodeParams parameters = {.type = cudaGraphNodeTypeHost};
    cudaGraphNode_t node;

    begin();
    parameters.host.fn = note;
    parameters.host.userData = (void *)(uintptr_t) "n";
    ck_cuda(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &parameters));
    launch();
    ck_assert_str_eq(order, "n");
    parameters = (struct cudaGraphNodeParams){.type = cudaGraphNodeTypeMemAlloc};
    parameters.alloc.poolProps.location.type = cudaMemLocationTypeDevice;
    parameters.alloc.bytesize = 4096;
    ck_cuda(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &parameters));
    ck_assert_ptr_nonnull(parameters.alloc.dptr);
    parameters.type = cudaGraphNodeTypeConditional;
    ck_assert_int_eq(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &parameters),
                     cudaErrorNotSupported);
}
END_TEST

START_TEST(the_drivers_graphs_are_the_same)
{
    CUDA_KERNEL_NODE_PARAMS kernel = {.gridDimX = 3, .blockDimX = 64, .func = (CUfunction)8}, same;
    struct cudaKernelNodeParams runtime;
    CUgraphNodeType type;
    CUgraphNode node;
    CUgraphExec made;

    begin();
    ck_cu(cuGraphAddKernelNode(&node, graph, NULL, 0, &kernel));
    ck_cu(cuGraphKernelNodeGetParams(node, &same));
    ck_assert_uint_eq(same.gridDimX, 3);
    ck_cuda(cudaGraphKernelNodeGetParams(node, &runtime));
    ck_assert_uint_eq(runtime.blockDim.x, 64);
    ck_cu(cuGraphNodeGetType(node, &type));
    ck_assert_int_eq(type, CU_GRAPH_NODE_TYPE_KERNEL);
    add_call("r", &node, 1);
    ck_cu(cuGraphInstantiate(&made, graph, 0));
    ck_cu(cuGraphLaunch(made, NULL));
    ck_assert_str_eq(order, "r");
    ck_cu(cuGraphExecDestroy(made));
    ck_cu(cuGraphDestroy(graph));
}
END_TEST

START_TEST(user_objects_live_as_long_as_a_graph_holds_them)
{
    cudaUserObject_t object;

    begin();
    ck_cuda(cudaUserObjectCreate(&object, (void *)(uintptr_t) "d", note, 1,
                                 cudaUserObjectNoDestructorSync));
    ck_cuda(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    ck_cuda(cudaGraphInstantiate(&executable, graph, 0));
    ck_cuda(cudaGraphDestroy(graph));
    ck_assert_str_eq(order, "");
    ck_cuda(cudaGraphExecDestroy(executable));
    ck_assert_str_eq(order, "d");
}
END_TEST

START_TEST(graphs_are_drawn)
{
    char path[] = "/tmp/cudasim-graph-XXXXXX", text[256] = "";
    cudaGraphNode_t a;
    FILE *file;

    begin();
    a = add_call("a", NULL, 0);
    add_call("b", &a, 1);
    close(mkstemp(path));
    ck_cuda(cudaGraphDebugDotPrint(graph, path, 0));
    file = fopen(path, "r");
    ck_assert_uint_gt(fread(text, 1, sizeof(text) - 1, file), 0);
    fclose(file);
    unlink(path);
    ck_assert_ptr_nonnull(strstr(text, "n0 -> n1;"));
    ck_assert_int_eq(cudaGraphDebugDotPrint(graph, "/no/such/folder/g.dot", 0),
                     cudaErrorOperatingSystem);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("nodes");

    tcase_add_test(tests, nodes_run_after_those_they_wait_for);
    tcase_add_test(tests, copies_and_fills_are_done_by_the_launch);
    tcase_add_test(tests, clones_and_updates);
    tcase_add_test(tests, a_graph_in_a_graph);
    tcase_add_test(tests, memory_is_there_from_launch_to_free);
    tcase_add_test(tests, memory_beyond_the_card_fails_the_launch);
    tcase_add_test(tests, nodes_by_one_structure);
    tcase_add_test(tests, the_drivers_graphs_are_the_same);
    tcase_add_test(tests, user_objects_live_as_long_as_a_graph_holds_them);
    tcase_add_test(tests, graphs_are_drawn);
    return RUN_TESTS(tests);
}
