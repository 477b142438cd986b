/* SPDX-License-Identifier: Apache-2.0 */
/* cuDNN's recurrent networks: sizes by hand, and every weight in a place of its own. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim-test.h"

/* cuDNN's header is not part of the toolkit that the build asks for. */
enum { FLOAT = 0, HALF = 2, TANH = 1, LSTM = 2, GRU = 3, NO_BIAS = 0, BOTH_BIASES = 2 };
enum { BAD_PARAM = 2000 };
size_t cudnnGetVersion(void);
int cudnnBackendCreateDescriptor(int type, void **out);
int cudnnBackendDestroyDescriptor(void *descriptor);
int cudnnBackendFinalize(void *descriptor);
int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t count,
                             const void *elements);
int cudnnBackendGetAttribute(const void *descriptor, int name, int type, int64_t wanted,
                             int64_t *count, void *elements);
int cudnnFindConvolutionForwardAlgorithmEx(void *handle, void *a, void *a_at, void *b, void *b_at,
                                           void *c, void *d, void *d_at, int wanted, int *count,
                                           void *answers, void *workspace, size_t size);
void sim_unknown_value(int what, const char *name);
int cudnnCreateRNNDescriptor(void **out);
int cudnnDestroyRNNDescriptor(void *rnn);
int cudnnSetRNNDescriptor_v8(void *rnn, int algorithm, int mode, int bias, int direction,
                             int input_mode, int type, int precision, int math, int32_t input,
                             int32_t hidden, int32_t projection, int32_t layers, void *dropout,
                             uint32_t flags);
int cudnnCreateRNNDataDescriptor(void **out);
int cudnnDestroyRNNDataDescriptor(void *data);
int cudnnSetRNNDataDescriptor(void *data, int type, int layout, int length, int batch, int vector,
                              const int *lengths, void *padding);
int cudnnGetRNNWeightSpaceSize(void *handle, void *rnn, size_t *size);
int cudnnGetRNNTempSpaceSizes(void *handle, void *rnn, int forward, void *data, size_t *workspace,
                              size_t *reserve);
int cudnnGetRNNWeightParams(void *handle, void *rnn, int32_t layer, size_t size, void *weights,
                            int32_t id, void *matrix, void **matrix_at, void *bias, void **bias_at);
int cudnnCreateTensorDescriptor(void **out);
int cudnnDestroyTensorDescriptor(void *tensor);
int cudnnGetTensorNdDescriptor(void *tensor, int wanted, int *type, int *dimensions, int *sizes,
                               int *strides);

struct shape {
    int mode, bias, directions, type, input, hidden, projection, layers;
};

static void *describe(const struct shape *shape)
{
    void *rnn;

    ck_assert_int_eq(cudnnCreateRNNDescriptor(&rnn), 0);
    ck_assert_int_eq(cudnnSetRNNDescriptor_v8(rnn, 0, shape->mode, shape->bias,
                                              shape->directions - 1, 0, shape->type, FLOAT, 0,
                                              shape->input, shape->hidden, shape->projection,
                                              shape->layers, NULL, 0),
                     0);
    return rnn;
}

/* Marks the bytes of a tensor at `at`, which nobody marked before; how many there are. */
static size_t mark(void *tensor, const char *at, char *weights, size_t size, size_t element)
{
    int type, dimensions, sizes[3], strides[3];
    size_t bytes = element;

    ck_assert_int_eq(cudnnGetTensorNdDescriptor(tensor, 3, &type, &dimensions, sizes, strides), 0);
    ck_assert_int_eq(dimensions, 3);
    for (int i = 0; i < 3; i++)
        bytes *= (size_t)sizes[i];
    if (!bytes)
        return 0;
    ck_assert(at >= weights);
    ck_assert_uint_le((size_t)(at - weights) + bytes, size);
    for (size_t i = 0; i < bytes; i++)
        ck_assert_int_eq(weights[at - weights + (ptrdiff_t)i]++, 0);
    return bytes;
}

/* The weights fill their space without a hole, and without one lying on another. */
static void check_weights(const struct shape *shape, size_t elements)
{
    int gates = shape->mode == LSTM ? 4 : shape->mode == GRU ? 3 : 1;
    size_t size, element = shape->type == HALF ? 2 : 4, marked = 0;
    void *rnn = describe(shape), *matrix, *bias, *matrix_at, *bias_at;
    char *weights;

    ck_assert_int_eq(cudnnGetRNNWeightSpaceSize(NULL, rnn, &size), 0);
    ck_assert_uint_eq(size, elements * element);
    weights = calloc(size, 1);
    ck_assert_int_eq(cudnnCreateTensorDescriptor(&matrix), 0);
    ck_assert_int_eq(cudnnCreateTensorDescriptor(&bias), 0);
    for (int layer = 0; layer < shape->layers * shape->directions; layer++) {
        for (int id = 0; id < 2 * gates + (shape->projection ? 1 : 0); id++) {
            ck_assert_int_eq(cudnnGetRNNWeightParams(NULL, rnn, layer, size, weights, id, matrix,
                                                     &matrix_at, bias, &bias_at),
                             0);
            marked += mark(matrix, matrix_at, weights, size, element);
            marked += mark(bias, bias_at, weights, size, element);
        }
    }
    ck_assert_uint_eq(marked, size);
    cudnnDestroyTensorDescriptor(matrix);
    cudnnDestroyTensorDescriptor(bias);
    cudnnDestroyRNNDescriptor(rnn);
    free(weights);
}

START_TEST(weights_fill_their_space)
{
    check_weights(&(struct shape){LSTM, BOTH_BIASES, 1, FLOAT, 16, 32, 0, 1},
                  4 * 32 * (16 + 32 + 2));
    check_weights(&(struct shape){GRU, BOTH_BIASES, 2, HALF, 10, 20, 0, 2},
                  2 * 3 * 20 * (10 + 20 + 2) + 2 * 3 * 20 * (40 + 20 + 2));
    check_weights(&(struct shape){TANH, NO_BIAS, 1, FLOAT, 5, 7, 0, 3},
                  7 * (5 + 7) + 2 * 7 * (7 + 7));
    check_weights(&(struct shape){LSTM, BOTH_BIASES, 1, FLOAT, 16, 32, 8, 2},
                  4 * 32 * (16 + 8 + 2) + 8 * 32 + 4 * 32 * (8 + 8 + 2) + 8 * 32);
}
END_TEST

START_TEST(a_pass_takes_what_its_steps_need)
{
    enum { LENGTH = 11, BATCH = 3, HIDDEN = 32 };
    void *rnn = describe(&(struct shape){LSTM, BOTH_BIASES, 1, FLOAT, 16, HIDDEN, 0, 2}), *data;
    size_t workspace, reserve;

    ck_assert_int_eq(cudnnCreateRNNDataDescriptor(&data), 0);
    ck_assert_int_eq(cudnnSetRNNDataDescriptor(data, FLOAT, 0, LENGTH, BATCH, 16, NULL, NULL), 0);
    ck_assert_int_eq(cudnnGetRNNTempSpaceSizes(NULL, rnn, 1, data, &workspace, &reserve), 0);
    ck_assert_uint_eq(workspace, LENGTH * BATCH * HIDDEN * 4 * 4);
    ck_assert_uint_eq(reserve, LENGTH * BATCH * HIDDEN * 6 * 2 * 4);
    ck_assert_int_eq(cudnnGetRNNTempSpaceSizes(NULL, rnn, 0, data, &workspace, &reserve), 0);
    ck_assert_uint_eq(reserve, 0);
    cudnnDestroyRNNDataDescriptor(data);
    cudnnDestroyRNNDescriptor(rnn);
}
END_TEST

START_TEST(wrong_shapes_are_errors)
{
    void *rnn, *data;

    ck_assert_int_eq(cudnnCreateRNNDescriptor(&rnn), 0);
    ck_assert_int_eq(cudnnSetRNNDescriptor_v8(rnn, 0, GRU + 1, BOTH_BIASES, 0, 0, FLOAT, FLOAT, 0,
                                              1, 1, 0, 1, NULL, 0),
                     BAD_PARAM);
    ck_assert_int_eq(cudnnSetRNNDescriptor_v8(rnn, 0, GRU, BOTH_BIASES, 0, 0, FLOAT, FLOAT, 0, 1, 4,
                                              5, 1, NULL, 0),
                     BAD_PARAM);
    ck_assert_int_eq(cudnnCreateRNNDataDescriptor(&data), 0);
    ck_assert_int_eq(cudnnSetRNNDataDescriptor(data, FLOAT, 0, 0, 1, 1, NULL, NULL), BAD_PARAM);
    cudnnDestroyRNNDataDescriptor(data);
    cudnnDestroyRNNDescriptor(rnn);
}
END_TEST

/* Return the workspace of a plan, as cuDNN's front end asks for it. */
static int64_t workspace_of_plan(int operation_type)
{
    enum { ENGINE_CONFIG = 3, HEURISTIC = 4, PLAN = 5, GRAPH = 15 };
    enum { OF_DESCRIPTORS = 15, OF_INT64 = 3, OF_HANDLES = 0 };
    enum { GRAPH_HANDLE = 800, PLAN_HANDLE = 400 };
    enum { RESULTS = 202, OF_HEURISTIC = 200, OF_PLAN = 401, WORKSPACE = 402, OPERATIONS = 801 };
    void *operation, *graph, *heuristic, *config, *plan, *handle = &plan;
    int64_t count, workspace = -1;

    ck_assert_int_eq(cudnnBackendCreateDescriptor(operation_type, &operation), 0);
    ck_assert_int_eq(cudnnBackendCreateDescriptor(GRAPH, &graph), 0);
    ck_assert_int_eq(cudnnBackendCreateDescriptor(HEURISTIC, &heuristic), 0);
    ck_assert_int_eq(cudnnBackendCreateDescriptor(ENGINE_CONFIG, &config), 0);
    ck_assert_int_eq(cudnnBackendCreateDescriptor(PLAN, &plan), 0);
    cudnnBackendSetAttribute(graph, OPERATIONS, OF_DESCRIPTORS, 1, &operation);
    ck_assert_int_eq(cudnnBackendSetAttribute(graph, GRAPH_HANDLE, OF_HANDLES, 1, &handle), 0);
    cudnnBackendSetAttribute(heuristic, OF_HEURISTIC, OF_DESCRIPTORS, 1, &graph);
    ck_assert_int_eq(cudnnBackendFinalize(heuristic), 0);
    cudnnBackendGetAttribute(heuristic, RESULTS, OF_DESCRIPTORS, 1, &count, &config);
    ck_assert_int_eq(cudnnBackendSetAttribute(plan, PLAN_HANDLE, OF_HANDLES, 1, &handle), 0);
    cudnnBackendSetAttribute(plan, OF_PLAN, OF_DESCRIPTORS, 1, &config);
    ck_assert_int_eq(cudnnBackendFinalize(plan), 0);
    cudnnBackendGetAttribute(plan, WORKSPACE, OF_INT64, 1, &count, &workspace);
    for (size_t i = 0; i < 5; i++)
        cudnnBackendDestroyDescriptor(((void *[]){operation, graph, heuristic, config, plan})[i]);
    return workspace;
}

enum { CONVOLUTION = 10, BACKWARD_FILTER = 11, NONE = 5 };
enum { INSTALLED_WORKSPACE = 7, NAMED_WORKSPACE = 8 };
static int noted;

/* In place of the simulated card's own, as a profiler has it. */
void sim_unknown_value(int what, const char *name)
{
    ck_assert_str_eq(name, what >= INSTALLED_WORKSPACE ? "91900" : "convolution");
    noted = what;
}

START_TEST(attention_needs_a_workspace)
{
    enum { PRODUCT = 19 };
    enum { WORKSPACE = 5, FASTEST_WORKSPACE = 6 };
    int count, algorithm[32];

    ck_assert_int_eq(workspace_of_plan(PRODUCT), 256);
    ck_assert_int_eq(noted, 0);
    ck_assert_int_eq(workspace_of_plan(CONVOLUTION), 0);
    ck_assert_int_eq(noted, WORKSPACE);
    ck_assert_int_eq(cudnnFindConvolutionForwardAlgorithmEx(NULL, NULL, NULL, NULL, NULL, NULL,
                                                            NULL, NULL, 1, &count, algorithm, NULL,
                                                            0),
                     0);
    ck_assert_int_eq(noted, FASTEST_WORKSPACE);
}
END_TEST

/* Make a folder as cuDNN has it, of links to a library, but for the part that is left out. */
static void install(const char *kind, const char *without)
{
    static const char *const parts[] = {"graph", "engines_precompiled", "engines_runtime_compiled",
                                        "heuristic", "engines_tensor_ir"};
    char folder[] = "/tmp/memtap-cudnn-XXXXXX", path[128];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_ptr_nonnull(getenv(kind));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(path, sizeof path, "%s/libcudnn_%s.so.9", folder, parts[i]);
        if (!without || strcmp(parts[i], without))
            ck_assert_int_eq(symlink(getenv(kind), path), 0);
    }
    setenv("CUDASIM_CUDNN", folder, 1);
}

/* Remove it, after what was loaded. */
static void uninstall(void)
{
    char command[256];
    snprintf(command, sizeof command, "rm -r %s", getenv("CUDASIM_CUDNN"));
    ck_assert_int_eq(system(command), 0);
}

START_TEST(installed_cudnn_answers)
{
    install("SIM_TEST_CUDNN_GOOD", "engines_tensor_ir");
    ck_assert_int_eq(workspace_of_plan(CONVOLUTION), 1000 + CONVOLUTION);
    ck_assert_int_eq(noted, NAMED_WORKSPACE);
    noted = 0;
    ck_assert_int_eq(workspace_of_plan(BACKWARD_FILTER), 1000 + BACKWARD_FILTER);
    ck_assert_int_eq(noted, 0);
    uninstall();
}
END_TEST

/* Load what is named like PyTorch's library, next to the metadata of its wheel. */
static void load_torch(const char *required)
{
    char folder[] = "/tmp/memtap-torch-XXXXXX", path[128];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    static const char *const parts[] = {"torch", "torch/lib", "torch-9.0.dist-info"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, parts[i]);
        ck_assert_int_eq(mkdir(path, 0700), 0);
    }
    snprintf(path, sizeof path, "%s/torch-9.0.dist-info/METADATA", folder);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "Name: torch\nRequires-Dist: filelock\nRequires-Dist: %s\n", required);
    fclose(file);
    snprintf(path, sizeof path, "%s/torch/lib/libtorch_cuda.so", folder);
    ck_assert_int_eq(symlink(getenv("SIM_TEST_CUDNN_GOOD"), path), 0);
    ck_assert_ptr_nonnull(dlopen(path, RTLD_NOW | RTLD_LOCAL));
    setenv("SIM_TEST_TORCH", folder, 1);
}

static void remove_torch(void)
{
    char command[256];
    snprintf(command, sizeof command, "rm -r %s", getenv("SIM_TEST_TORCH"));
    ck_assert_int_eq(system(command), 0);
}

/* What PyTorch's wheel requires is the version that it uses, installed next to it or not. */
static const struct {
    const char *required;
    size_t version;
    int noted;
} wheels[] = {
    {"nvidia-cudnn-cu13==9.19.0.56; platform_system == \"Linux\"", 91900, INSTALLED_WORKSPACE},
    {"nvidia-cudnn-cu12 (==9.1.0.70) ; platform_system == \"Linux\"", 90100, NAMED_WORKSPACE},
    {"nvidia-cudnn-cu12==9.19.0.56", 91900, NAMED_WORKSPACE}, /* that is for CUDA 13 */
    {"nvidia-cudnn-cu12", 92600, NAMED_WORKSPACE},
};

START_TEST(named_cudnn_may_be_of_another_version)
{
    install("SIM_TEST_CUDNN_GOOD", "engines_tensor_ir");
    load_torch(wheels[_i].required);
    ck_assert_uint_eq(cudnnGetVersion(), wheels[_i].version);
    ck_assert_int_eq(workspace_of_plan(CONVOLUTION), 1000 + CONVOLUTION);
    ck_assert_int_eq(noted, wheels[_i].noted);
    remove_torch();
    uninstall();
}
END_TEST

/* Replace a part by a copy that is built for another processor. */
static void build_for_another(const char *part)
{
    char command[512];
    snprintf(command, sizeof command,
             "cd %s && cp -L libcudnn_%s.so.9 it && printf '\\267\\000' | "
             "dd of=it bs=1 seek=18 conv=notrunc 2>/dev/null && mv it libcudnn_%s.so.9",
             getenv("CUDASIM_CUDNN"), part, part);
    ck_assert_int_eq(system(command), 0);
}

/* Replace a part by its first bytes, as an interrupted installation leaves it. */
static void truncate_part(const char *part)
{
    char command[512];
    snprintf(command, sizeof command,
             "cd %s && head -c 9000 libcudnn_%s.so.9 > it && mv it libcudnn_%s.so.9",
             getenv("CUDASIM_CUDNN"), part, part);
    ck_assert_int_eq(system(command), 0);
}

/* What cannot answer is left alone, and convolutions have no workspaces. */
static const struct {
    const char *kind, *without, *foreign, *truncated;
} unfit[] = {
    {"SIM_TEST_CUDNN_OLD", NULL},
    {"SIM_TEST_CUDNN_REFUSES", NULL},
    {"SIM_TEST_CUDNN_GOOD", "heuristic"},
    {"SIM_TEST_CUDNN_GOOD", "graph"},
    {"SIM_TEST_CUDNN_NEWER", "engines_tensor_ir"},
    {"SIM_TEST_CUDNN_GOOD", NULL, "graph"},
    {"SIM_TEST_CUDNN_GOOD", NULL, "engines_precompiled"},
    {"SIM_TEST_CUDNN_GOOD", NULL, NULL, "graph"},
    {"SIM_TEST_CUDNN_GOOD", NULL, NULL, "heuristic"},
};

START_TEST(unfit_cudnn_is_left_alone)
{
    install(unfit[_i].kind, unfit[_i].without);
    if (unfit[_i].foreign)
        build_for_another(unfit[_i].foreign);
    if (unfit[_i].truncated)
        truncate_part(unfit[_i].truncated);
    ck_assert_int_eq(workspace_of_plan(CONVOLUTION), 0);
    ck_assert_int_eq(noted, NONE);
    uninstall();
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("cudnn");

    tcase_add_test(tests, attention_needs_a_workspace);
    tcase_add_test(tests, installed_cudnn_answers);
    tcase_add_loop_test(tests, named_cudnn_may_be_of_another_version, 0,
                        sizeof wheels / sizeof *wheels);
    tcase_add_loop_test(tests, unfit_cudnn_is_left_alone, 0, sizeof unfit / sizeof *unfit);

    tcase_add_test(tests, weights_fill_their_space);
    tcase_add_test(tests, a_pass_takes_what_its_steps_need);
    tcase_add_test(tests, wrong_shapes_are_errors);
    return RUN_TESTS(tests);
}
