/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of a trace's program (planner/requests), and their replay (planner/plan). */
#include "planner/advice/packing.h"
#include "planner/advice/plan.h"
#include "tests/support/run-tests.h"
#include "trace-builder.h"
#include "trace-format/cuda-apis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
#define BASE UINT64_C(0x7f0000000000)

START_TEST(gaps_join_and_the_top_falls)
{
    struct mt_gaps gaps = {0};
    uint64_t a = mt_gaps_take(&gaps, 100), b = mt_gaps_take(&gaps, 50), c = mt_gaps_take(&gaps, 25);
    ck_assert_uint_eq(c, 150);
    ck_assert_int_eq(mt_gaps_give(&gaps, a, a + 100), 0);
    ck_assert_int_eq(mt_gaps_give(&gaps, b, b + 50), 0);
    ck_assert_uint_eq(gaps.n, 1);
    ck_assert_uint_eq(mt_gaps_take(&gaps, 120), 0);
    ck_assert_uint_eq(mt_gaps_take(&gaps, 31), 175);
    ck_assert_uint_eq(mt_gaps_take(&gaps, 30), 120);
    ck_assert_int_eq(mt_gaps_give(&gaps, 175, 206), 0);
    ck_assert_uint_eq(gaps.top, 175);
    ck_assert_int_eq(mt_gaps_give(&gaps, c, c + 25), 0);
    ck_assert_uint_eq(gaps.top, 150);
    mt_gaps_clear(&gaps);
}
END_TEST

static uint64_t pack(struct mt_request *list, size_t n)
{
    struct mt_requests requests = {.request = list, .n = n, .allocs = n};
    return mt_packing(&requests);
}

static struct mt_request take(uint32_t block, uint64_t size)
{
    return (struct mt_request){.kind = MT_REQUEST_ALLOCATE, .block = block, .size = size};
}

static struct mt_request give(uint32_t block)
{
    return (struct mt_request){.kind = MT_REQUEST_FREE, .block = block};
}

/* Two of 1 MiB have a gap of 1 MiB between them, by address, when 2 MiB come. */
START_TEST(packing_knows_the_whole_run)
{
    struct mt_request run[] = {take(0, MIB), take(1, MIB), take(2, MIB), give(1), take(1, 2 * MIB)};
    ck_assert_uint_eq(pack(run, 5), 4 * MIB);
    struct mt_request odd[] = {take(0, 1), take(1, 513), give(0), take(0, 512)};
    ck_assert_uint_eq(pack(odd, 4), 1536);
    ck_assert_uint_eq(pack(NULL, 0), 0);
}
END_TEST

/* A block that waits for a stream takes its place until that has ended. */
START_TEST(packing_keeps_what_waits)
{
    struct mt_request use = {.kind = MT_REQUEST_RECORD_STREAM, .stream = 9};
    struct mt_request done = {.kind = MT_REQUEST_COMPLETE};
    struct mt_request run[] = {take(0, MIB), use, give(0), take(1, MIB), done};
    ck_assert_uint_eq(pack(run, 5), 2 * MIB);
}
END_TEST

/* The requests of a trace that a function builds. */
static const struct mt_requests *gather(void (*build)(struct mt_builder *), struct mt_gathering **g,
                                        size_t *n)
{
    char path[] = "/tmp/memtap-test-XXXXXX";
    int file = mkstemp(path);
    struct mt_trace_error error;
    struct mt_replay replay;
    struct mt_builder *builder = mt_builder_create();
    build(builder);
    mt_builder_write(builder, path);
    mt_builder_destroy(builder);
    *g = mt_gathering_create();
    struct mt_watcher watcher = {mt_gather, *g};
    struct mt_question question = {.watcher = &watcher};
    ck_assert_int_eq(mt_replay(path, &question, &replay, &error), 0);
    mt_replay_clear(&replay);
    close(file);
    unlink(path);
    return mt_gathering_finish(*g, n);
}

static void streams(struct mt_builder *builder)
{
    mt_build_event(builder, MT_REQUEST_STREAM, 0, 0, 0);
    mt_build_event(builder, MT_REQUEST, 12, 0, 0);
    mt_build_alloc(builder, BASE, 512);
    mt_build_event(builder, MT_REQUEST_STREAM, 0x5500, 0x7000, 0);
    mt_build_alloc(builder, BASE + 4096, 1024);
    mt_build_event(builder, MT_FREE_WAITS, 0, 0, 0);
    mt_build_free(builder, BASE);
    mt_build_event(builder, MT_FREE_DONE, BASE, 0, 0);
    mt_build_event(builder, MT_REQUEST_STREAM, MT_STREAM_UNKNOWN, 0, 0);
    mt_build_alloc(builder, BASE, 2048);
    mt_build_event4(builder, MT_FREE, BASE + 64 * MIB, 512, 3072, 2 * MIB);
    mt_build_end(builder);
}

START_TEST(requests_have_sizes_streams_and_waits)
{
    size_t n;
    struct mt_gathering *g;
    const struct mt_requests *requests = gather(streams, &g, &n);
    static const struct mt_request expected[] = {
        {.kind = MT_REQUEST_OTHERS},
        {.kind = MT_REQUEST_ALLOCATE, .size = 500},
        {.kind = MT_REQUEST_POOL_CREATE, .pool = 1},
        {.kind = MT_REQUEST_ALLOCATE, .size = 1024, .block = 1, .stream = 1, .pool = 1},
        {.kind = MT_REQUEST_RECORD_STREAM, .stream = UINT16_MAX},
        {.kind = MT_REQUEST_FREE},
        {.kind = MT_REQUEST_COMPLETE},
        {.kind = MT_REQUEST_ALLOCATE, .size = 2048}};
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(requests->n, 8);
    for (size_t i = 0; i < 8; i++) {
        const struct mt_request *request = &requests->request[i];
        ck_assert_msg(
            request->kind == expected[i].kind && request->size == expected[i].size &&
                request->block == expected[i].block && request->stream == expected[i].stream &&
                request->pool == expected[i].pool,
            "request %zu: kind %u, size %llu, block %u, stream %u, pool %u", i, request->kind,
            (unsigned long long)request->size, request->block, request->stream, request->pool);
    }
    ck_assert_uint_eq(requests->allocs, 3);
    ck_assert_uint_eq(requests->unknown, 1);
    ck_assert_uint_eq(requests->waits, 1);
    ck_assert_uint_eq(requests->from_before, 1);
    ck_assert(!requests->knows_others);
    mt_gathering_destroy(g);
}
END_TEST

/* A thread's stream on one device says nothing of another; that of each goes on. */
static void two_devices(struct mt_builder *builder)
{
    for (int round = 0; round < 2; round++)
        for (int device = 0; device < 2; device++) {
            mt_build_on(builder, device, 1, 0);
            if (!round)
                mt_build_event(builder, MT_REQUEST_STREAM, 0x5500, 0, 0);
            mt_build_event(builder, MT_REQUEST, 12, 0, 0);
            mt_build_alloc(builder, BASE + (uint64_t)(2 * round + device) * MIB, 512);
        }
    mt_build_end(builder);
}

START_TEST(requests_of_two_devices_are_known)
{
    size_t n;
    struct mt_gathering *g;
    const struct mt_requests *requests = gather(two_devices, &g, &n);
    ck_assert_uint_eq(n, 2);
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_eq(requests[i].allocs, 2);
        ck_assert_uint_eq(requests[i].unknown, 0);
        ck_assert_uint_eq(requests[i].others_streams, 2);
        ck_assert_uint_eq(requests[i].request[requests[i].n - 1].size, 500);
    }
    mt_gathering_destroy(g);
}
END_TEST

/* A segment is freed by C++: before the next allocation, memory is requested from CUDA, or not. */
static void frees(struct mt_builder *builder)
{
    for (unsigned i = 0; i < 2; i++) {
        mt_build_event4(builder, MT_CUDA_MALLOC, BASE, 2 * MIB, 0, MT_API_CUDA_MALLOC);
        mt_build_alloc(builder, BASE, 512);
        mt_build_free(builder, BASE);
        mt_build_event(builder, MT_CUDA_FREE, BASE, MT_API_CUDA_FREE, 0);
        if (!i) {
            mt_build_event4(builder, MT_CUDA_MALLOC, BASE + 4 * MIB, 2 * MIB, 0,
                            MT_API_CUDA_MALLOC);
        }
        mt_build_alloc(builder, BASE + 4 * MIB + i * 512, 512);
    }
    mt_build_end(builder);
}

START_TEST(frees_of_segments_are_an_empty_cache)
{
    size_t n, emptied = 0, marks = 0;
    struct mt_gathering *g;
    const struct mt_requests *requests = gather(frees, &g, &n);
    for (size_t i = 0; i < requests->n; i++) {
        emptied += requests->request[i].kind == MT_REQUEST_EMPTY_CACHE;
        marks += requests->request[i].kind == MT_REQUEST_MARK;
    }
    ck_assert_uint_eq(emptied, 1);
    ck_assert_uint_eq(marks, 1);
    mt_gathering_destroy(g);
}
END_TEST

/* A library asks the driver while PyTorch's segment is made, and gives its memory back. */
static void library_frees(struct mt_builder *builder)
{
    mt_build_event4(builder, MT_CUDA_MALLOC, BASE + 8 * MIB, 1024, 0, MT_API_CU_MEM_ALLOC);
    mt_build_event4(builder, MT_CUDA_MALLOC, BASE, 2 * MIB, 0, MT_API_CUDA_MALLOC);
    mt_build_alloc(builder, BASE, 512);
    mt_build_event(builder, MT_CUDA_FREE, BASE + 8 * MIB, MT_API_CU_MEM_FREE, 0);
    mt_build_alloc(builder, BASE + 512, 512);
    mt_build_end(builder);
}

START_TEST(frees_of_a_library_are_none)
{
    size_t n;
    struct mt_gathering *g;
    const struct mt_requests *requests = gather(library_frees, &g, &n);
    for (size_t i = 0; i < requests->n; i++)
        ck_assert(requests->request[i].kind != MT_REQUEST_EMPTY_CACHE &&
                  requests->request[i].kind != MT_REQUEST_MARK);
    mt_gathering_destroy(g);
}
END_TEST

/* The device has 1 MiB besides CUDA's allocations. Two samples in a row are taken within a
 * cudaMalloc. */
static void samples(struct mt_builder *builder)
{
    static const uint64_t twice[] = {0, 4 * MIB, 2 * MIB, 0, 4 * MIB};
    for (unsigned i = 0; i < 5; i++) {
        uint64_t cuda = (i + 1) * 4 * MIB, used = cuda + MIB + twice[i];
        mt_build_event4(builder, MT_CUDA_MALLOC, BASE + i * 4 * MIB, 4 * MIB, 0,
                        MT_API_CUDA_MALLOC);
        mt_build_event4(builder, MT_DEVICE_MEMORY, 64 * MIB, 64 * MIB - used, used, 0);
        mt_build_event4(builder, MT_ALLOC, BASE + i * 4 * MIB, 4 * MIB, cuda, cuda);
    }
    mt_build_event4(builder, MT_CUDA_MALLOC, BASE + 20 * MIB, 4 * MIB, 0, MT_API_CUDA_MALLOC);
    mt_build_end(builder);
}

/* The context grows by 3 MiB before a request fails, and CUDA allocates nothing after it. */
static void grown_context(struct mt_builder *builder)
{
    mt_build_event4(builder, MT_DEVICE_MEMORY, 16 * MIB, 15 * MIB, MIB, 0);
    mt_build_event4(builder, MT_CUDA_MALLOC, BASE, 10 * MIB, 0, MT_API_CUDA_MALLOC);
    mt_build_event4(builder, MT_ALLOC, BASE, 10 * MIB, 10 * MIB, 10 * MIB);
    mt_build_event4(builder, MT_CUDA_MALLOC, 0, 4 * MIB, 2, MT_API_CUDA_MALLOC);
    mt_build_event4(builder, MT_OOM, 4 * MIB, 10 * MIB, 10 * MIB, 0);
    mt_build_event4(builder, MT_DEVICE_MEMORY, 16 * MIB, 2 * MIB, 14 * MIB, 0);
    mt_build_end(builder);
}

START_TEST(the_sample_after_a_failure_says_what_was_free)
{
    size_t n;
    struct mt_gathering *g;
    const struct mt_requests *requests = gather(grown_context, &g, &n);
    size_t failed = mt_failed_last(requests);
    ck_assert_uint_ge(failed, 2);
    ck_assert_int_eq(requests->request[failed - 2].kind, MT_REQUEST_OTHERS);
    ck_assert_uint_eq(requests->request[failed - 2].size, 4 * MIB);
    mt_gathering_destroy(g);
}
END_TEST

START_TEST(samples_settle_each_other)
{
    size_t n;
    struct mt_gathering *g;
    const struct mt_requests *requests = gather(samples, &g, &n);
    ck_assert(requests->knows_others);
    ck_assert_uint_eq(requests->card, 64 * MIB);
    ck_assert_uint_eq(requests->most_others, MIB);
    mt_gathering_destroy(g);
}
END_TEST

/* A private pool's piece of an expandable segment goes: the pool was released before. Another pool
 * begins where it was. */
static void pieces(struct mt_builder *builder)
{
    mt_build_event(builder, MT_REQUEST_STREAM, 0x5500, 0x7000, 0);
    for (uint64_t handle = 1; handle <= 2; handle++)
        mt_build_event4(builder, MT_CUDA_MALLOC, handle, 2 * MIB, 0, MT_API_CU_MEM_CREATE);
    for (unsigned i = 0; i < 2; i++) {
        mt_build_event4(builder, MT_CUDA_MAP, BASE, 2 * MIB, 1, MT_API_CU_MEM_MAP);
        mt_build_event4(builder, MT_CUDA_MAP, BASE + 2 * MIB, 2 * MIB, 2, MT_API_CU_MEM_MAP);
        mt_build_alloc(builder, BASE, 3 * MIB);
        mt_build_free(builder, BASE);
        mt_build_event(builder, MT_CUDA_UNMAP, BASE, 2 * MIB, MT_API_CU_MEM_UNMAP);
        mt_build_event(builder, MT_CUDA_UNMAP, BASE + 2 * MIB, 2 * MIB, MT_API_CU_MEM_UNMAP);
    }
    mt_build_end(builder);
}

START_TEST(private_pools_are_released_once)
{
    static const uint8_t kinds[] = {MT_REQUEST_POOL_CREATE, MT_REQUEST_ALLOCATE, MT_REQUEST_FREE,
                                    MT_REQUEST_POOL_RELEASE, MT_REQUEST_EMPTY_CACHE};
    size_t n, at = 0;
    struct mt_gathering *g;
    const struct mt_requests *requests = gather(pieces, &g, &n);
    for (size_t i = 0; i < requests->n; i++) {
        const struct mt_request *request = &requests->request[i];
        if (request->kind == MT_REQUEST_OTHERS)
            continue;
        ck_assert_uint_eq(request->kind, kinds[at % 5]);
        if (request->kind == MT_REQUEST_POOL_CREATE || request->kind == MT_REQUEST_POOL_RELEASE)
            ck_assert_uint_eq(request->pool, at / 5 + 1);
        at++;
    }
    ck_assert_uint_eq(at, 10);
    mt_gathering_destroy(g);
}
END_TEST

/* Settings that the release does not have are left out; those that the user wants are an error. */
START_TEST(a_plan_knows_the_release)
{
    size_t n, wrong = 9;
    struct mt_gathering *g;
    struct mt_plan old, new;
    struct mt_alloc_conf_error error;
    const struct mt_requests *requests = gather(streams, &g, &n);
    struct mt_plan_question question = {.torch = "2.1.2+cu121"};
    ck_assert_int_eq(mt_plan_make(&old, requests, &question, &wrong, &error), 0);
    question.torch = "2.15.0";
    ck_assert_int_eq(mt_plan_make(&new, requests, &question, &wrong, &error), 0);
    ck_assert_uint_lt(old.n, new.n);
    ck_assert_str_eq(mt_plan_variable(&old), "PYTORCH_CUDA_ALLOC_CONF");
    ck_assert_str_eq(mt_plan_variable(&new), "PYTORCH_ALLOC_CONF");
    ck_assert(!new.is_exact); /* one request is not known */
    ck_assert_uint_eq(new.floor.live, 1024 + 2048);
    mt_plan_clear(&old);
    mt_plan_clear(&new);
    question.wanted = (const char *const[]){"", "max_split:3"};
    question.n_wanted = 2;
    ck_assert_int_eq(mt_plan_make(&new, requests, &question, &wrong, &error), -EINVAL);
    ck_assert_uint_eq(wrong, 1);
    mt_plan_clear(&new);
    mt_gathering_destroy(g);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("plan");
    tcase_add_test(tests, gaps_join_and_the_top_falls);
    tcase_add_test(tests, packing_knows_the_whole_run);
    tcase_add_test(tests, packing_keeps_what_waits);
    tcase_add_test(tests, requests_have_sizes_streams_and_waits);
    tcase_add_test(tests, requests_of_two_devices_are_known);
    tcase_add_test(tests, frees_of_a_library_are_none);
    tcase_add_test(tests, frees_of_segments_are_an_empty_cache);
    tcase_add_test(tests, samples_settle_each_other);
    tcase_add_test(tests, the_sample_after_a_failure_says_what_was_free);
    tcase_add_test(tests, private_pools_are_released_once);
    tcase_add_test(tests, a_plan_knows_the_release);
    return RUN_TESTS(tests);
}
