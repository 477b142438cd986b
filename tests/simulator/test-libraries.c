/* SPDX-License-Identifier: Apache-2.0 */
/* Workspaces follow from what is to be computed. */
#include <stdio.h>
#include <unistd.h>

#include "sim-test.h"

/* Those libraries' headers are not part of the toolkit that the build asks for. */
int cufftXtMakePlanMany(int plan, int rank, const long long *lengths, const long long *in_lengths,
                        long long in_stride, long long in_distance, int in_type,
                        const long long *out_lengths, long long out_stride, long long out_distance,
                        int out_type, long long batch, size_t *size, int type);
int cusolverDnSsyevd_bufferSize(void *handle, int mode, int fill, int n, const float *matrix,
                                int stride, const float *values, int *size);
int cusolverDnSpotrf_bufferSize(void *handle, int fill, int n, float *a, int lda, int *size);
int cusolverDnSgetrf_bufferSize(void *handle, int m, int n, float *a, int lda, int *size);
int cusolverDnSgeqrf_bufferSize(void *handle, int m, int n, float *a, int lda, int *size);
int cusolverDnSorgqr_bufferSize(void *handle, int m, int n, int k, const float *a, int lda,
                                const float *tau, int *size);
int cusolverDnSormqr_bufferSize(void *handle, int side, int transposed, int m, int n, int k,
                                const float *a, int lda, const float *tau, const float *c, int ldc,
                                int *size);
int cusolverDnSgesvdj_bufferSize(void *handle, int job, int econ, int m, int n, const float *a,
                                 int lda, const float *s, const float *u, int ldu, const float *v,
                                 int ldv, int *size, void *info);
int cusolverDnSsyevjBatched_bufferSize(void *handle, int job, int fill, int n, const float *a,
                                       int lda, const float *w, int *size, void *info, int batch);
int cusolverDnSsyevj_bufferSize(void *handle, int job, int fill, int n, const float *a, int lda,
                                const float *w, int *size, void *info);
int cusolverDnZgetrf_bufferSize(void *handle, int m, int n, void *a, int lda, int *size);
int cusolverDnSgesvd_bufferSize(void *handle, int m, int n, int *size);
int cusolverDnXsyevd_bufferSize(void *handle, void *parameters, int mode, int fill, int64_t n,
                                int type, const void *matrix, int64_t stride, int values_type,
                                const void *values, int compute, size_t *device, size_t *host);

int cublasCreate_v2(void **handle);
int cublasDestroy_v2(void *handle);
int cusolverDnCreate(void **handle);
int cusolverDnDestroy(void *handle);
int cudnnCreate(void **handle);
int cudnnDestroy(void *handle);

/* What cuFileHandleRegister takes, for a file descriptor. */
struct description {
    int type;
    union {
        int descriptor;
        void *handle;
    };
    const void *operations;
};
int64_t cuFileHandleRegister(void **out, const struct description *description);
void cuFileHandleDeregister(void *file);
ssize_t cuFileRead(void *file, void *base, size_t size, off_t at, off_t in_device);
ssize_t cuFileWrite(void *file, const void *base, size_t size, off_t at, off_t in_device);

int nvshmemx_set_attr_uniqueid_args(int rank, int ranks, const void *id, void *attributes);
int nvshmemid_hostlib_init_attr(int wanted, int *given, unsigned flags, void *attributes);
int nvshmemid_init_status(void);
void *nvshmem_malloc(size_t size);
void nvshmem_free(void *address);
void *nvshmem_ptr(const void *address, int rank);
int nvshmem_team_n_pes(int team);
int nvshmem_team_split_strided(int parent, int first, int stride, int size, const void *config,
                               long mask, int *team);

enum { COMPLEX_32F = 4, COMPLEX_64F = 5 };

START_TEST(nvshmem_gives_memory_of_the_device)
{
    size_t before, now, total;
    int given = 0, team;

    ck_cuda(cudaMemGetInfo(&before, &total));
    ck_assert_int_eq(nvshmemx_set_attr_uniqueid_args(1, 4, NULL, NULL), 0);
    ck_assert_int_eq(nvshmemid_hostlib_init_attr(2, &given, 0, NULL), 0);
    ck_assert_int_eq(given, 2);
    ck_assert_int_eq(nvshmemid_init_status(), 2);
    ck_assert_int_eq(nvshmem_team_n_pes(0), 4);
    ck_assert_int_eq(nvshmem_team_split_strided(0, 0, 2, 2, NULL, 0, &team), 0);
    ck_assert_int_eq(nvshmem_team_n_pes(team), 2);
    ck_assert_int_ne(nvshmem_team_split_strided(0, 0, 2, 3, NULL, 0, &team), 0);
    char *address = nvshmem_malloc(64 << 20);
    ck_assert_ptr_nonnull(address);
    ck_cuda(cudaMemGetInfo(&now, &total));
    ck_assert_uint_eq(before - now, 64 << 20);
    ck_assert_ptr_eq(nvshmem_ptr(address, 1), address);
    ck_assert_ptr_null(nvshmem_ptr(address, 2));
    nvshmem_free(address);
    ck_cuda(cudaMemGetInfo(&now, &total));
    ck_assert_uint_eq(now, before);
    ck_assert_ptr_null(nvshmem_malloc((size_t)1 << 50));
}
END_TEST

enum {
    BLAS_NOT_INITIALIZED = 1,
    BLAS_ALLOC_FAILED = 3,
    SOLVER_NOT_INITIALIZED = 1,
    DNN_NOT_INITIALIZED = 1001,
    DNN_ALLOC_FAILED = 4004
};

START_TEST(handles_need_a_device)
{
    size_t stack;
    void *handle;

    use_gpu("h100"); /* on which handles were measured */
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    ck_assert_int_eq(cublasCreate_v2(&handle), BLAS_NOT_INITIALIZED);
    ck_assert_int_eq(cusolverDnCreate(&handle), SOLVER_NOT_INITIALIZED);
    ck_assert_int_eq(cudnnCreate(&handle), DNN_NOT_INITIALIZED);
    ck_assert_int_eq(cudaDeviceGetLimit(&stack, cudaLimitStackSize), cudaErrorNoDevice);
    ck_assert_int_eq(cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE), CUDA_ERROR_INVALID_CONTEXT);
}
END_TEST

START_TEST(handles_hold_memory)
{
    void *first, *second, *third;
    size_t before, streams = MIB(8); /* 16 of them */

    use_gpu("h100");
    before = available();
    ck_assert_int_eq(cublasCreate_v2(&first), 0);
    ck_assert_uint_eq(before - available(), MIB(2) + MIB(64));
    ck_assert_int_eq(cublasCreate_v2(&second), 0);
    ck_assert_uint_eq(before - available(), MIB(2) + MIB(128));
    ck_assert_int_eq(cudnnCreate(&third), 0); /* 25,344 and 4 bytes share a page with cuBLAS's */
    ck_assert_uint_eq(before - available(), MIB(2) + MIB(128) + streams);
    ck_assert_int_eq(cublasDestroy_v2(first), 0);
    ck_assert_int_eq(cublasDestroy_v2(second), 0);
    ck_assert_uint_eq(before - available(), MIB(2) + streams);
    ck_assert_int_eq(cusolverDnCreate(&first), 0);
    ck_assert_uint_eq(before - available(), MIB(2) + MIB(64) + MIB(32) + streams);
    ck_assert_int_eq(cusolverDnDestroy(first), 0);
    ck_assert_int_eq(cudnnDestroy(third), 0);
    ck_assert_uint_eq(before - available(), streams); /* the context keeps it */
    ck_assert_int_eq(cublasDestroy_v2(NULL), 0);
}
END_TEST

/* What cuBLAS does with a bad text, one of the last three, was not measured. */
START_TEST(a_variable_sets_the_workspaces_of_cublas)
{
    static const struct {
        const char *text;
        size_t mib;
    } cases[] = {{":4096:8", 32}, {":1024:3:64:2", 4}, {":16:8", 0},
                 {"off", 64},     {":16", 64},         {":16:8:16:8:4096:2:x", 64}};
    void *handle;
    size_t before;

    use_gpu("h100");
    before = available();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        setenv("CUBLAS_WORKSPACE_CONFIG", cases[i].text, 1);
        ck_assert_int_eq(cublasCreate_v2(&handle), 0);
        ck_assert_uint_eq(before - available(), MIB(cases[i].mib) + MIB(2));
        ck_assert_int_eq(cublasDestroy_v2(handle), 0);
    }
}
END_TEST

START_TEST(a_capture_forbids_handles)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    void *handle;

    use_gpu("h100");
    ck_cuda(cudaStreamCreate(&stream));
    ck_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    ck_assert_int_eq(cublasCreate_v2(&handle), BLAS_NOT_INITIALIZED);
    ck_assert_int_eq(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    ck_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    ck_assert_int_eq(cudnnCreate(&handle), DNN_ALLOC_FAILED);
    ck_assert_int_eq(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    ck_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    ck_assert_int_eq(cublasCreate_v2(&handle), 0);
    ck_cuda(cudaStreamEndCapture(stream, &graph));
}
END_TEST

START_TEST(handles_need_room)
{
    void *handle, *all;
    size_t before;

    use_gpu("h100");
    before = available() / MIB(2) * MIB(2);
    ck_cuda(cudaMalloc(&all, before - MIB(32)));
    before = available();
    ck_assert_int_eq(cublasCreate_v2(&handle), BLAS_ALLOC_FAILED);
    ck_assert_uint_eq(before, available());
    ck_cuda(cudaMalloc(&all, before / MIB(2) * MIB(2)));
    ck_assert_int_eq(cudnnCreate(&handle), DNN_ALLOC_FAILED);
}
END_TEST

static size_t plan_of(int rank, const long long *lengths, int from, int to, long long batch)
{
    size_t size = 1;
    int type = from > to ? from : to;

    ck_assert_int_eq(
        cufftXtMakePlanMany(1, rank, lengths, NULL, 1, 1, from, NULL, 1, 1, to, batch, &size, type),
        0);
    return size;
}

/* As measured on an H100. */
START_TEST(a_transform_works_in_place_if_it_can)
{
    static const struct {
        long long length, batch;
        size_t complex, real;
    } cases[] = {
        {7, 64, 0, 0},
        {97, 64, 0, 0},
        {1021, 1, 0, 16360},
        {1021, 64, 0, 523520},
        {16384, 64, 0, 0},
        {65536, 1, 524288, 262152},
        {100000, 64, 51200000, 25600512},
        {4099, 1, 139264, 172056},
        {4099, 64, 8847360, 5475072},
        {10007, 64, 20736000, 12930816},
        {1000003, 1, 32401408, 40401432},
    };
    const long long lengths[] = {61, 67, 71, 73};
    size_t size;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_uint_eq(plan_of(1, &cases[i].length, COMPLEX_32F, COMPLEX_32F, cases[i].batch),
                          cases[i].complex);
        ck_assert_uint_eq(plan_of(1, &cases[i].length, 0, COMPLEX_32F, cases[i].batch),
                          cases[i].real);
    }
    ck_assert_uint_eq(plan_of(3, lengths, 0, COMPLEX_32F, 64), 0);
    ck_assert_uint_eq(plan_of(1, (const long long[]){1021}, 1, COMPLEX_64F, 1), 32720);
    ck_assert_int_ne(cufftXtMakePlanMany(1, 4, lengths, NULL, 1, 1, COMPLEX_64F, NULL, 1, 1,
                                         COMPLEX_64F, 1, &size, COMPLEX_64F),
                     0);
}
END_TEST

START_TEST(solvers_request_what_was_measured)
{
    size_t device, host;
    int size;

#define ck_solver(expected, call)                                                                  \
    ck_assert_int_eq(call, 0);                                                                     \
    ck_assert_int_eq(size, expected)
    ck_solver(1199611, cusolverDnSsyevd_bufferSize(NULL, 0, 0, 500, NULL, 500, NULL, &size));
    ck_solver(88, cusolverDnSpotrf_bufferSize(NULL, 0, 200, NULL, 200, &size));
    ck_solver(65568, cusolverDnSpotrf_bufferSize(NULL, 0, 8192, NULL, 8192, &size));
    ck_solver(192, cusolverDnSgetrf_bufferSize(NULL, 100, 10, NULL, 100, &size));
    ck_solver(1036288, cusolverDnSgeqrf_bufferSize(NULL, 500, 500, NULL, 500, &size));
    ck_solver(65088, cusolverDnSorgqr_bufferSize(NULL, 127, 127, 127, NULL, 127, NULL, &size));
    ck_solver(278784, cusolverDnSorgqr_bufferSize(NULL, 1024, 512, 512, NULL, 1, NULL, &size));
    ck_solver(7855936, cusolverDnSormqr_bufferSize(NULL, 0, 1, 10000, 10000, 10, NULL, 1, NULL,
                                                   NULL, 1, &size));
    ck_solver(2731104, cusolverDnSgesvdj_bufferSize(NULL, 1, 1, 10000, 10, NULL, 1, NULL, NULL, 1,
                                                    NULL, 1, &size, NULL));
    ck_solver(917792, cusolverDnSgesvdj_bufferSize(NULL, 1, 1, 256, 512, NULL, 1, NULL, NULL, 1,
                                                   NULL, 1, &size, NULL));
    ck_solver(23468,
              cusolverDnSsyevjBatched_bufferSize(NULL, 0, 0, 33, NULL, 33, NULL, &size, NULL, 7));
    ck_solver(382543, cusolverDnSsyevj_bufferSize(NULL, 0, 0, 600, NULL, 600, NULL, &size, NULL));
    ck_solver(41943056, cusolverDnSsyevj_bufferSize(NULL, 0, 0, 4096, NULL, 1, NULL, &size, NULL));
    ck_solver(9600, cusolverDnZgetrf_bufferSize(NULL, 2000, 2000, NULL, 2000, &size));
    ck_solver(9488, cusolverDnZgetrf_bufferSize(NULL, 4096, 1024, NULL, 4096, &size));
    ck_solver(3325888, cusolverDnSgesvd_bufferSize(NULL, 1000, 1000, &size));
    ck_assert_int_eq(
        cusolverDnXsyevd_bufferSize(NULL, NULL, 0, 0, 5, 0, NULL, 5, 0, NULL, 0, &device, &host),
        0);
    ck_assert_uint_eq(device, 278168);
    ck_assert_uint_eq(host, 0);
}
END_TEST

START_TEST(files_are_read_and_written)
{
    struct description description = {.type = 1, .descriptor = -1};
    FILE *stream = tmpfile();
    char *memory, text[16] = "";
    void *file;

    use_gpu("t4");
    ck_assert_int_ne(cuFileHandleRegister(&file, &description), 0);
    description.descriptor = fileno(stream);
    ck_assert_int_eq(cuFileHandleRegister(&file, &description), 0);
    ck_cuda(cudaMalloc((void **)&memory, MIB(3)));
    ck_cuda(cudaMemcpy(memory + 100, "contents", 8, cudaMemcpyHostToDevice));
    ck_assert_int_eq(cuFileWrite(file, memory, MIB(2) + 1, 4, 100), MIB(2) + 1);
    ck_assert_int_eq(pread(description.descriptor, text, 8, 4), 8);
    ck_assert_str_eq(text, "contents");
    ck_assert_int_eq(cuFileRead(file, memory, 8, 6, 1000), 8);
    ck_assert_mem_eq(memory + 1000, "ntents", 7);
    /* Larger than what is really copied; beyond the end. */
    ck_assert_int_eq(cuFileRead(file, memory, MIB(3), 5, 0), MIB(2));
    ck_assert_int_eq(cuFileRead(file, memory, MIB(3), MIB(4), 0), 0);
    ck_assert_int_eq(cuFileRead(file, text, 8, 0, 0), -1);
    cuFileHandleDeregister(file);
    fclose(stream);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("libraries");

    tcase_add_test(tests, nvshmem_gives_memory_of_the_device);
    tcase_add_test(tests, handles_need_a_device);
    tcase_add_test(tests, handles_hold_memory);
    tcase_add_test(tests, handles_need_room);
    tcase_add_test(tests, a_variable_sets_the_workspaces_of_cublas);
    tcase_add_test(tests, a_capture_forbids_handles);
    tcase_add_test(tests, a_transform_works_in_place_if_it_can);
    tcase_add_test(tests, solvers_request_what_was_measured);
    tcase_add_test(tests, files_are_read_and_written);
    return RUN_TESTS(tests);
}
