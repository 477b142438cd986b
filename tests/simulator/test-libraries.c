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
int cusolverDnXsyevd_bufferSize(void *handle, void *parameters, int mode, int fill, int64_t n,
                                int type, const void *matrix, int64_t stride, int values_type,
                                const void *values, int compute, size_t *device, size_t *host);

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

START_TEST(a_transform_works_in_the_size_of_its_signals)
{
    const long long lengths[] = {100, 200};
    size_t size;

    ck_assert_int_eq(cufftXtMakePlanMany(1, 2, lengths, NULL, 1, 1, COMPLEX_32F, NULL, 1, 1,
                                         COMPLEX_32F, 3, &size, COMPLEX_32F),
                     0);
    ck_assert_uint_eq(size, 3 * 100 * 200 * 8);
    ck_assert_int_eq(cufftXtMakePlanMany(1, 1, lengths, NULL, 1, 1, COMPLEX_64F, NULL, 1, 1,
                                         COMPLEX_64F, 1, &size, COMPLEX_64F),
                     0);
    ck_assert_uint_eq(size, 100 * 16);
    ck_assert_int_ne(cufftXtMakePlanMany(1, 4, lengths, NULL, 1, 1, COMPLEX_64F, NULL, 1, 1,
                                         COMPLEX_64F, 1, &size, COMPLEX_64F),
                     0);
}
END_TEST

START_TEST(eigenvalues_need_matrices)
{
    size_t device, host;
    int size;

    ck_assert_int_eq(cusolverDnSsyevd_bufferSize(NULL, 0, 0, 1000, NULL, 1000, NULL, &size), 0);
    ck_assert_int_eq(size, 65536 + 2 * 1000 * 1000);
    ck_assert_int_eq(cusolverDnXsyevd_bufferSize(NULL, NULL, 0, 0, 100000, 0, NULL, 100000, 0, NULL,
                                                 0, &device, &host),
                     0);
    ck_assert_uint_eq(device, 524288 + 16ul * 100000 * 100000);
    ck_assert_uint_eq(host, 65536);
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
    tcase_add_test(tests, a_transform_works_in_the_size_of_its_signals);
    tcase_add_test(tests, eigenvalues_need_matrices);
    tcase_add_test(tests, files_are_read_and_written);
    return RUN_TESTS(tests);
}
