/* SPDX-License-Identifier: Apache-2.0 */
/* What the device holds besides PyTorch's memory, and what is left at a program's end. */
#include "analyzer/findings/analysis.h"
#include "analyzer/print/page.h"
#include "device-fixture.h"
#include "scenarios.h"
#include "tests/support/run-tests.h"

#include <check.h>

#define A 0x7f0000000000ull

static void sample(uint64_t free, uint64_t own, uint64_t others)
{
    mt_build_event4(builder, MT_DEVICE_MEMORY, 1000 * MT_MIB, free, own, others);
}

/* PyTorch's segment, a workspace of a library, and what a context takes. */
static void use_library(void)
{
    uint32_t segment =
        mt_build_stack(builder, "/u/t.py:1 main", "/v/site-packages/torch/lib/libtorch_cuda.so@99",
                       "/v/site-packages/torch/lib/libc10_cuda.so@20", NULL);
    uint32_t library =
        mt_build_stack(builder, "/u/t.py:2 main", "/v/site-packages/torch/lib/libtorch_cuda.so@11",
                       "/v/site-packages/nvidia/cu13/lib/libcublasLt.so.13@4567",
                       "/v/site-packages/nvidia/cu13/lib/libcudart.so.13@12", NULL);
    mt_build_on(builder, 0, 1, segment);
    mt_build_event(builder, MT_CUDA_MALLOC, A, 20 * MT_MIB, 0);
    mt_build_event(builder, MT_CUDA_MALLOC, A + 64 * MT_MIB, 2 * MT_MIB, 0); /* all cached */
    mt_build_on(builder, 0, 1, library);
    mt_build_event(builder, MT_CUDA_MALLOC, A + 128 * MT_MIB, 8 * MT_MIB, 0);
    mt_build_event4(builder, MT_ALLOC, A, 20 * MT_MIB, 20 * MT_MIB, 22 * MT_MIB);
}

START_TEST(all_memory_of_the_device_is_distinguished)
{
    sample(999 * MT_MIB, 0, 0);
    use_library();
    mt_build_event(builder, MT_CUDA_MALLOC, A + 256 * MT_MIB, 3 * MT_MIB, 0); /* after the peak */
    sample(500 * MT_MIB, 333 * MT_MIB, 150 * MT_MIB);
    sample(1 * MT_MIB, 1 * MT_MIB, 1 * MT_MIB); /* later ones say nothing of the peak */
    const struct mt_balance *balance = &analyze()->balance;
    ck_assert_int_eq(balance->known, 1);
    ck_assert_int_eq(balance->knows_own, 1);
    ck_assert_uint_eq(balance->total, 1000 * MT_MIB);
    ck_assert_uint_eq(balance->used, 497 * MT_MIB);
    ck_assert_uint_eq(balance->pytorch, 22 * MT_MIB);
    ck_assert_uint_eq(balance->cuda, 8 * MT_MIB);
    ck_assert_uint_eq(balance->n_parts, 1);
    ck_assert_str_eq(balance->part[0].name, "libcublasLt.so.13");
    ck_assert_uint_eq(balance->part[0].bytes, 8 * MT_MIB);
    ck_assert_uint_eq(balance->runtime, 300 * MT_MIB);
    ck_assert_uint_eq(balance->others, 150 * MT_MIB);
    ck_assert_uint_eq(balance->unexplained, 17 * MT_MIB);
}
END_TEST

static void cuda_gives(uint64_t address, uint64_t size, enum mt_cuda_api api)
{
    mt_build_event4(builder, MT_CUDA_MALLOC, address, size, 0, api);
}

/* cuBLAS asks the driver, between PyTorch's calls, by a runtime of its own. A segment becomes
 * empty.
 */
static void use_cublas(void)
{
    cuda_gives(A, 1024, MT_API_CU_MEM_ALLOC);
    cuda_gives(A + MT_MIB, 131072, MT_API_CU_MEM_ALLOC);
    cuda_gives(A + 64 * MT_MIB, 64 * MT_MIB, MT_API_CU_MEM_ALLOC);
    cuda_gives(A + 128 * MT_MIB, 64 * MT_MIB, MT_API_CUDA_MALLOC);
    mt_build_event4(builder, MT_ALLOC, A + 128 * MT_MIB, 50 * MT_MIB, 50 * MT_MIB, 64 * MT_MIB);
    mt_build_event4(builder, MT_FREE, A + 128 * MT_MIB, 50 * MT_MIB, 0, 64 * MT_MIB);
    cuda_gives(A + 256 * MT_MIB, 96 * MT_MIB, MT_API_CUDA_MALLOC);
}

static void check_cublas(uint64_t empty)
{
    const struct mt_balance *balance = &analyze()->balance;
    unsigned slot = mt_device_slot(0);
    ck_assert_uint_eq(analysis.replay.reserved.known[slot], 160 * MT_MIB);
    ck_assert_uint_eq(analysis.replay.reserved.lacks[slot], 0);
    ck_assert_uint_eq(balance->pytorch, 160 * MT_MIB);
    ck_assert_uint_eq(balance->n_empty, 1);
    ck_assert_uint_eq(balance->empty[0].bytes, empty);
    ck_assert_str_eq(balance->empty[0].name, "cudaMalloc");
    ck_assert_uint_eq(balance->n_parts, 1);
    ck_assert_uint_eq(balance->part[0].bytes, 64 * MT_MIB + 131072 + 1024);
    ck_assert_str_eq(balance->part[0].name, "cuMemAlloc");
}

START_TEST(what_cublas_requests_from_the_driver_is_not_a_segment)
{
    use_cublas();
    mt_build_event4(builder, MT_ALLOC, A + 256 * MT_MIB, 96 * MT_MIB, 96 * MT_MIB, 160 * MT_MIB);
    check_cublas(64 * MT_MIB);
}
END_TEST

START_TEST(a_total_shows_the_segment_of_a_block_that_is_not_recorded)
{
    use_cublas();
    mt_build_event4(builder, MT_FREE, 0, 0, 96 * MT_MIB, 160 * MT_MIB);
    check_cublas(160 * MT_MIB); /* what is in it is unknown */
}
END_TEST

START_TEST(what_libraries_get_for_themselves_is_known_by_their_frames)
{
    static const struct {
        const char *frame;
        enum mt_category category;
    } libraries[] = {
        {"/usr/lib/x86_64-linux-gnu/libcudnn_graph.so.9@12", MT_CATEGORY_WORKSPACE},
        {"/v/site-packages/nvidia/nccl/lib/libnccl.so.2@34", MT_CATEGORY_COMMUNICATION},
        {"/opt/cuda/lib64/libcublas.so.13@56", MT_CATEGORY_WORKSPACE},
        {"/opt/app/libnotcublas.so@78", MT_CATEGORY_OTHER}};
    uint64_t bytes[MT_CATEGORY_ROOM] = {0};
    for (unsigned i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        mt_build_on(builder, 0, 1,
                    mt_build_stack(builder, "/opt/app/main@11", libraries[i].frame,
                                   "/opt/cuda/lib64/libcudart.so.13@12", NULL));
        mt_build_event(builder, MT_CUDA_MALLOC, A + i * MT_MIB, 1000u << i, 0);
        bytes[libraries[i].category] += 1000u << i;
    }
    const struct mt_device *device = analyze();
    for (unsigned i = 0; i < mt_n_categories; i++)
        ck_assert_uint_eq(device->category[i].bytes, bytes[i]);
}
END_TEST

START_TEST(without_nvml_others_are_with_the_context)
{
    use_library();
    sample(600 * MT_MIB, 0, 0);
    const struct mt_balance *balance = &analyze()->balance;
    ck_assert_int_eq(balance->knows_own, 0);
    ck_assert_uint_eq(balance->used, 400 * MT_MIB);
    ck_assert_uint_eq(balance->runtime, 370 * MT_MIB);
    ck_assert_uint_eq(balance->unexplained, 0);
}
END_TEST

START_TEST(a_sample_before_serves_where_none_follows)
{
    use_library();
    sample(600 * MT_MIB, 400 * MT_MIB, 0);
    mt_build_event4(builder, MT_ALLOC, A + 1, 1, 21 * MT_MIB, 22 * MT_MIB); /* the peak */
    const struct mt_balance *balance = &analyze()->balance;
    ck_assert_int_eq(balance->known, 1);
    ck_assert_uint_eq(balance->runtime, 370 * MT_MIB);
}
END_TEST

/* The device has given a segment of 20 MiB when it is asked, and that call's event comes later. */
static void sample_within_a_call(uint64_t free)
{
    use_library();
    sample(free, 1000 * MT_MIB - free, 0);
    mt_build_event(builder, MT_CUDA_MALLOC, A + 256 * MT_MIB, 20 * MT_MIB, 0);
    mt_build_event4(builder, MT_ALLOC, A + 256 * MT_MIB, 1, 20 * MT_MIB + 1, 42 * MT_MIB);
}

START_TEST(a_sample_within_a_call_is_corrected_by_the_next)
{
    sample_within_a_call(580 * MT_MIB);
    for (unsigned i = 0; i < 9; i++) /* the next sample is farther than the first */
        mt_build_event4(builder, i % 2 ? MT_ALLOC : MT_FREE, A + 256 * MT_MIB, 1,
                        20 * MT_MIB + i % 2, 42 * MT_MIB);
    sample(580 * MT_MIB, 420 * MT_MIB, 0);
    const struct mt_balance *balance = &analyze()->balance;
    ck_assert_uint_eq(balance->runtime, 370 * MT_MIB);
    ck_assert_uint_eq(balance->used, 420 * MT_MIB);
}
END_TEST

START_TEST(no_more_is_in_use_than_the_device_has)
{
    sample_within_a_call(10 * MT_MIB);
    const struct mt_balance *balance = &analyze()->balance;
    ck_assert_uint_eq(balance->used, 1000 * MT_MIB);
    ck_assert_uint_eq(balance->runtime, 950 * MT_MIB);
}
END_TEST

/* So many communicators of device 0, from a number on. */
static void communicators(unsigned first, unsigned n)
{
    for (unsigned i = first; i < first + n; i++)
        mt_build_event(builder, MT_CUDA_OBJECT, 0x1000 + i, MT_API_NCCL_SPLIT, 0);
}

/* Two are there at the peak; one has ended, and one is created later. */
static const struct mt_device *use_nccl(bool has_memory)
{
    use_library();
    sample(600 * MT_MIB, 400 * MT_MIB, 0);
    communicators(0, 3);
    mt_build_event(builder, MT_CUDA_OBJECT_GONE, 0x1001, MT_API_NCCL_DESTROY, 0);
    mt_build_on(builder, 0, 1,
                mt_build_stack(builder, "/u/t.py:2 main",
                               "/v/site-packages/nvidia/nccl/lib/libnccl.so.2@34", NULL));
    if (has_memory)
        mt_build_event4(builder, MT_CUDA_MALLOC, A + 512 * MT_MIB, 7 * MT_MIB, 0,
                        MT_API_CU_MEM_CREATE);
    mt_build_event4(builder, MT_ALLOC, A + 30 * MT_MIB, MT_MIB, 21 * MT_MIB, 22 * MT_MIB);
    communicators(7, 1);
    sample(500 * MT_MIB, 500 * MT_MIB, 0);
    return analyze();
}

static void check_rows(const struct mt_device *device, const char *there, const char *missing)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const struct mt_style style = {.utf8 = 1};
    ck_assert_ptr_nonnull(out);
    const struct mt_page page = mt_page_of(&analysis, out, &style);
    mt_page_balance(&page, device);
    fclose(out);
    ck_assert_msg(strstr(text, there) && !strstr(text, missing), "%s", text);
    free(text);
}

START_TEST(nccls_memory_has_the_number_of_its_communicators)
{
    const struct mt_device *device = use_nccl(true);
    ck_assert_uint_eq(device->balance.nccl.communicators, 2);
    ck_assert_uint_eq(device->balance.nccl.bytes, 7 * MT_MIB);
    ck_assert_uint_eq(device->balance.since.communicators, 3);
    check_rows(device, "    NCCL, 2 communicators                     7.00 MiB", "libnccl");
}
END_TEST

START_TEST(communicators_without_memory_of_their_own_are_counted)
{
    const struct mt_device *device = use_nccl(false);
    ck_assert_uint_eq(device->balance.nccl.bytes, 0);
    check_rows(device, "since: 3 NCCL communicators", "including");
}
END_TEST

START_TEST(without_samples_the_libraries_are_reported)
{
    use_library();
    const struct mt_balance *balance = &analyze()->balance;
    ck_assert_int_eq(balance->known, 0);
    ck_assert_uint_eq(balance->cuda, 8 * MT_MIB);
    ck_assert_str_eq(balance->part[0].name, "libcublasLt.so.13");
}
END_TEST

START_TEST(what_is_never_freed_is_reported)
{
    mt_scenario_c_program(builder);
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->leaks.bytes, 3 * MT_MIB);
    ck_assert_uint_eq(device->leaks.blocks, 1);
    ck_assert_uint_eq(device->leaks.n, 1);
    ck_assert_uint_eq(analysis.replay.cuda.unknown, 0);
    ck_assert_uint_eq(analysis.replay.cuda.twice.blocks, 1);
    ck_assert_uint_eq(analysis.replay.cuda.by_others.blocks, 1);
}
END_TEST

/* Eight buffers of one line, each larger than the one before, or the last but one. */
START_TEST(buffers_may_outgrow_each_other)
{
    mt_build_on(builder, 0, 1, mt_build_stack(builder, "/home/u/pool.c:27 take", NULL));
    for (uint64_t i = 1; i <= 8; i++)
        mt_build_event(builder, MT_CUDA_MALLOC, A + i * MT_MIB * 16,
                       (_i && i == 8 ? 7 : i) * MT_MIB, 0);
    const struct mt_rising rising = analyze()->rising;
    ck_assert_uint_eq(rising.n, _i ? 0 : 8);
    ck_assert_uint_eq(rising.least, _i ? 0 : MT_MIB);
    ck_assert_uint_eq(rising.most, _i ? 0 : 8 * MT_MIB);
}
END_TEST

START_TEST(a_killed_program_has_no_leaks)
{
    mt_build_event(builder, MT_CUDA_MALLOC, A, 1000, 0);
    ck_assert_uint_eq(analyze()->leaks.blocks, 0);
}
END_TEST

START_TEST(pytorchs_tensors_are_no_leaks)
{
    mt_build_info(builder, "torch=2.15.0");
    mt_build_event(builder, MT_CUDA_MALLOC, A, 1000, 0);
    mt_build_end(builder);
    ck_assert_uint_eq(analyze()->leaks.blocks, 0);
}
END_TEST

int main(void)
{
    TCase *balance = tcase_create("balance");
    tcase_add_checked_fixture(balance, begin, end);
    tcase_add_test(balance, all_memory_of_the_device_is_distinguished);
    tcase_add_test(balance, what_cublas_requests_from_the_driver_is_not_a_segment);
    tcase_add_test(balance, a_total_shows_the_segment_of_a_block_that_is_not_recorded);
    tcase_add_test(balance, what_libraries_get_for_themselves_is_known_by_their_frames);
    tcase_add_test(balance, without_nvml_others_are_with_the_context);
    tcase_add_test(balance, a_sample_before_serves_where_none_follows);
    tcase_add_test(balance, a_sample_within_a_call_is_corrected_by_the_next);
    tcase_add_test(balance, no_more_is_in_use_than_the_device_has);
    tcase_add_test(balance, nccls_memory_has_the_number_of_its_communicators);
    tcase_add_test(balance, communicators_without_memory_of_their_own_are_counted);
    tcase_add_test(balance, without_samples_the_libraries_are_reported);
    tcase_add_test(balance, what_is_never_freed_is_reported);
    tcase_add_loop_test(balance, buffers_may_outgrow_each_other, 0, 2);
    tcase_add_test(balance, a_killed_program_has_no_leaks);
    tcase_add_test(balance, pytorchs_tensors_are_no_leaks);
    return RUN_TESTS(balance);
}
