/* SPDX-License-Identifier: Apache-2.0 */
/* C programs: what copies and sets show of their memory, frees that are none, physical memory. */
#include "analysis-fixture.h"
#include "scenarios.h"
#include "tests/support/run-tests.h"
#include "trace-format/cuda-apis.h"

#define A 0x7f0000000000u
#define B (A + 64 * MT_MIB)
#define C (A + 128 * MT_MIB)
#define HOST 0x560000001000u

static const struct mt_device *analyze(void)
{
    mt_build_end(builder);
    mt_analyze(&analysis, builder, &question);
    return mt_analysis_main_device(&analysis);
}

static void allocate(uint64_t address, uint64_t size)
{
    mt_build_event4(builder, MT_CUDA_MALLOC, address, size, 0, MT_API_CUDA_MALLOC);
}

static void release(uint64_t address)
{
    mt_build_event(builder, MT_CUDA_FREE, address, MT_API_CUDA_FREE, 0);
}

static void copy(uint64_t to, uint64_t from)
{
    mt_build_event4(builder, MT_CUDA_COPY, to, from, 1000, MT_API_CUDA_COPY);
}

static void set(uint64_t address)
{
    mt_build_event(builder, MT_CUDA_SET, address, 1000, MT_API_CUDA_SET);
}

static void peak(void)
{
    allocate(A + 512 * MT_MIB, MT_MIB);
}

static void expect(uint64_t never, uint64_t after, uint64_t until)
{
    const struct mt_idle *idle = &analyze()->idle;
    ck_assert_int_eq(idle->is_known, 1);
    ck_assert_uint_eq(idle->kind[MT_IDLE_NEVER].bytes, never);
    ck_assert_uint_eq(idle->kind[MT_IDLE_AFTER].bytes, after);
    ck_assert_uint_eq(idle->kind[MT_IDLE_UNTIL].bytes, until);
}

START_TEST(what_no_copy_touches_is_distinguished)
{
    allocate(A, MT_MIB);
    allocate(B, 2 * MT_MIB);
    allocate(C, 4 * MT_MIB);
    copy(B, HOST);
    peak();
    set(C);
    expect(MT_MIB, 2 * MT_MIB, 4 * MT_MIB);
}
END_TEST

START_TEST(what_is_copied_before_and_after_is_in_use)
{
    allocate(A, MT_MIB);
    set(A + 1000); /* into it */
    peak();
    copy(HOST, A + MT_MIB - 1);
    expect(0, 0, 0);
}
END_TEST

START_TEST(a_copy_touches_both_its_ends)
{
    allocate(A, MT_MIB);
    allocate(B, 2 * MT_MIB);
    copy(A, B);
    peak();
    expect(0, 3 * MT_MIB, 0);
}
END_TEST

START_TEST(the_next_one_at_an_address_has_its_own_touches)
{
    allocate(A, MT_MIB);
    set(A);
    release(A);
    allocate(A, 2 * MT_MIB);
    peak();
    expect(2 * MT_MIB, 0, 0);
}
END_TEST

/* Its record is kept, and another one's touches are not its own. */
START_TEST(what_is_freed_after_the_peak_counts_its_own_touches)
{
    allocate(A, 8 * MT_MIB);
    set(A);
    peak();
    release(A);
    allocate(A, MT_MIB);
    set(A);
    expect(0, 8 * MT_MIB, 0);
}
END_TEST

START_TEST(nothing_is_said_of_memory_that_the_host_can_touch)
{
    mt_build_event4(builder, MT_CUDA_MALLOC, A, MT_MIB, 0, MT_API_CUDA_MALLOC_MANAGED);
    mt_build_event4(builder, MT_CUDA_MALLOC, B, MT_MIB, 0, MT_API_CU_MEM_CREATE);
    mt_build_event4(builder, MT_CUDA_MALLOC, C, MT_MIB, 0, MT_API_CUDA_MALLOC_ARRAY);
    set(HOST);
    peak();
    expect(0, 0, 0);
}
END_TEST

static void expect_silence(void)
{
    const struct mt_idle *idle = &analyze()->idle;
    ck_assert_int_eq(idle->is_known, 0);
    for (enum mt_idle_kind kind = 0; kind < MT_IDLE_KINDS; kind++)
        ck_assert_uint_eq(idle->kind[kind].blocks, 0);
}

START_TEST(nothing_is_said_where_no_copy_was_seen)
{
    allocate(A, MT_MIB);
    peak();
    expect_silence();
}
END_TEST

START_TEST(nothing_is_said_where_copies_may_be_missing)
{
    allocate(A, MT_MIB);
    set(A);
    mt_build_event(builder, MT_LOST, 1, 0, 0);
    peak();
    expect_silence();
}
END_TEST

START_TEST(nothing_is_said_where_the_past_was_dropped)
{
    mt_build_info(builder, "dropped=10 events before 1.000 s");
    allocate(A, MT_MIB);
    set(A);
    peak();
    expect_silence();
}
END_TEST

START_TEST(a_second_free_is_reported_with_its_allocation)
{
    mt_build_on(builder, 0, 1, mt_build_stack(builder, "/src/main.c:7 main", NULL));
    allocate(A, MT_MIB);
    mt_build_on(builder, 0, 1, 0);
    release(A);
    release(A);
    mt_build_event(builder, MT_CUDA_FREE_FAILED, A, 1, MT_API_CUDA_FREE); /* as CUDA answers */
    release(B);
    const struct mt_cuda_level *cuda = (analyze(), &analysis.replay.cuda);
    ck_assert_uint_eq(cuda->unknown, 1);
    ck_assert_uint_eq(cuda->twice.bytes, MT_MIB);
    ck_assert_uint_eq(cuda->twice.blocks, 1);
    ck_assert_str_eq(mt_stack_frame(analysis.replay.definitions, cuda->twice.sum[0].stack)->file,
                     "/src/main.c");
    ck_assert_uint_eq(mt_analysis_main_device(&analysis)->leaks.blocks, 0);
}
END_TEST

START_TEST(an_address_that_is_used_again_may_be_freed_again)
{
    for (int i = 0; i < 3; i++) {
        allocate(A, MT_MIB);
        release(A);
    }
    analyze();
    ck_assert_uint_eq(analysis.replay.cuda.twice.blocks, 0);
}
END_TEST

START_TEST(leaks_are_reported_by_complete_stacks)
{
    uint32_t one = mt_build_stack(builder, "/src/main.c:7 main", "/src/new.c:3 make", NULL);
    uint32_t other = mt_build_stack(builder, "/src/main.c:9 main", "/src/new.c:3 make", NULL);
    mt_build_on(builder, 0, 1, one);
    allocate(A, MT_MIB);
    allocate(B, MT_MIB);
    mt_build_on(builder, 0, 1, other);
    allocate(C, 4 * MT_MIB);
    const struct mt_sums *leaks = &analyze()->leaks;
    ck_assert_uint_eq(leaks->n, 2);
    ck_assert_uint_eq(leaks->sum[0].stack, other);
    ck_assert_uint_eq(leaks->sum[1].stack, one);
    ck_assert_uint_eq(leaks->sum[1].blocks, 2);
}
END_TEST

#define HANDLE 0x5500u

static void create(uint64_t handle, uint64_t size)
{
    mt_build_event4(builder, MT_CUDA_MALLOC, handle, size, 0, MT_API_CU_MEM_CREATE);
}

static void map(uint64_t address, uint64_t size, uint64_t handle)
{
    mt_build_event4(builder, MT_CUDA_MAP, address, size, handle, MT_API_CU_MEM_MAP);
}

static void unmap(uint64_t address, uint64_t size)
{
    mt_build_event(builder, MT_CUDA_UNMAP, address, size, MT_API_CU_MEM_UNMAP);
}

static void release_handle(uint64_t handle)
{
    mt_build_event(builder, MT_CUDA_FREE, handle, MT_API_CU_MEM_RELEASE, 0);
}

static void expect_live(uint64_t bytes)
{
    ck_assert_uint_eq(analyze()->leaks.bytes, bytes);
    ck_assert_uint_eq(analysis.replay.cuda.unknown, 0);
    ck_assert_uint_eq(analysis.replay.cuda.twice.blocks, 0);
}

START_TEST(what_is_mapped_outlives_its_handle)
{
    create(HANDLE, 2 * MT_MIB);
    map(A, 2 * MT_MIB, HANDLE);
    release_handle(HANDLE);
    expect_live(2 * MT_MIB);
}
END_TEST

START_TEST(the_last_unmap_ends_what_was_released)
{
    create(HANDLE, 2 * MT_MIB);
    map(A, 2 * MT_MIB, HANDLE);
    map(B, 2 * MT_MIB, HANDLE);
    release_handle(HANDLE);
    unmap(A, 2 * MT_MIB);
    peak();
    unmap(B, 2 * MT_MIB);
    expect_live(MT_MIB);
    ck_assert_uint_eq(mt_analysis_main_device(&analysis)->peak.allocated, 3 * MT_MIB);
}
END_TEST

START_TEST(one_unmap_may_end_several)
{
    for (uint64_t i = 0; i < 3; i++) {
        create(HANDLE + i, 2 * MT_MIB);
        map(A + i * 2 * MT_MIB, 2 * MT_MIB, HANDLE + i);
        if (i != 1)
            release_handle(HANDLE + i);
    }
    unmap(A, 6 * MT_MIB);
    expect_live(2 * MT_MIB);
}
END_TEST

/* As NCCL returns memory: by a handle that it requests again. */
START_TEST(a_requested_handle_is_released_too)
{
    create(HANDLE, 2 * MT_MIB);
    map(A, 2 * MT_MIB, HANDLE);
    release_handle(HANDLE);
    unmap(A, 2 * MT_MIB);
    release_handle(HANDLE);
    peak();
    expect_live(MT_MIB);
}
END_TEST

START_TEST(a_release_that_fails_changes_nothing)
{
    create(HANDLE, 2 * MT_MIB);
    map(A, 2 * MT_MIB, HANDLE);
    release_handle(HANDLE);
    mt_build_event(builder, MT_CUDA_FREE_FAILED, HANDLE, 1, MT_API_CU_MEM_RELEASE);
    unmap(A, 2 * MT_MIB);
    expect_live(2 * MT_MIB);
}
END_TEST

START_TEST(imported_memory_is_nobodys_here)
{
    mt_build_event4(builder, MT_CUDA_MALLOC, HANDLE, 0, 0, MT_API_CU_MEM_IMPORT);
    map(A, 2 * MT_MIB, HANDLE);
    unmap(A, 2 * MT_MIB);
    release_handle(HANDLE);
    peak();
    expect_live(MT_MIB);
}
END_TEST

/* It is freed as if it were the process's own. */
START_TEST(external_memory_is_reported_and_not_counted)
{
    mt_build_event4(builder, MT_CUDA_MALLOC, A, 4 * MT_MIB, 0, MT_API_CUDA_EXTERNAL_BUFFER);
    mt_build_event4(builder, MT_CUDA_MALLOC, B, 0, 0, MT_API_CUDA_IPC_OPEN);
    mt_build_event4(builder, MT_CUDA_MALLOC, B, 0, 0, MT_API_CUDA_IPC_OPEN);
    peak();
    release(A);
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->peak.allocated, MT_MIB);
    ck_assert_uint_eq(device->balance.imported.bytes, 4 * MT_MIB);
    ck_assert_uint_eq(device->balance.imported.blocks, 2);
    ck_assert_uint_eq(device->balance.imported.unsized, 1);
    ck_assert_uint_eq(analysis.replay.cuda.unknown, 0);
}
END_TEST

/* A graph's copies are not in the trace: what was not seen to be used may have been. */
START_TEST(nothing_is_said_where_copies_are_not_seen)
{
    mt_build_info(builder, "unseen_copies=cudaGraphLaunch");
    allocate(A, 4 * MT_MIB);
    allocate(B, 2 * MT_MIB);
    copy(B, HOST);
    peak();
    const struct mt_device *device = analyze();
    ck_assert_int_eq(device->idle.is_known, 0);
    ck_assert_str_eq(device->idle.unseen, "cudaGraphLaunch");
    ck_assert_uint_eq(device->idle.kind[MT_IDLE_NEVER].blocks, 0);
}
END_TEST

int main(void)
{
    TCase *idle = tcase_create("idle"), *frees = tcase_create("frees"),
          *physical = tcase_create("physical");
    tcase_add_checked_fixture(physical, begin, end);
    tcase_add_test(physical, what_is_mapped_outlives_its_handle);
    tcase_add_test(physical, the_last_unmap_ends_what_was_released);
    tcase_add_test(physical, one_unmap_may_end_several);
    tcase_add_test(physical, a_requested_handle_is_released_too);
    tcase_add_test(physical, a_release_that_fails_changes_nothing);
    tcase_add_test(physical, imported_memory_is_nobodys_here);
    tcase_add_test(physical, external_memory_is_reported_and_not_counted);
    tcase_add_checked_fixture(idle, begin, end);
    tcase_add_test(idle, what_no_copy_touches_is_distinguished);
    tcase_add_test(idle, what_is_copied_before_and_after_is_in_use);
    tcase_add_test(idle, a_copy_touches_both_its_ends);
    tcase_add_test(idle, the_next_one_at_an_address_has_its_own_touches);
    tcase_add_test(idle, what_is_freed_after_the_peak_counts_its_own_touches);
    tcase_add_test(idle, nothing_is_said_of_memory_that_the_host_can_touch);
    tcase_add_test(idle, nothing_is_said_where_no_copy_was_seen);
    tcase_add_test(idle, nothing_is_said_where_copies_may_be_missing);
    tcase_add_test(idle, nothing_is_said_where_the_past_was_dropped);
    tcase_add_test(idle, nothing_is_said_where_copies_are_not_seen);
    tcase_add_checked_fixture(frees, begin, end);
    tcase_add_test(frees, a_second_free_is_reported_with_its_allocation);
    tcase_add_test(frees, an_address_that_is_used_again_may_be_freed_again);
    tcase_add_test(frees, leaks_are_reported_by_complete_stacks);
    return RUN_TESTS(idle, frees, physical);
}
