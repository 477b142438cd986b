/* SPDX-License-Identifier: Apache-2.0 */
/* What a server does, by its functions on the stack: its steps, and the terms of its budget. */
#include "analyzer/findings/analysis.h"
#include "analyzer/print/page.h"
#include "device-fixture.h"
#include "scenarios.h"
#include "tests/support/run-tests.h"

#include <stdio.h>
#include <string.h>

#define BASE 0x7f0000000000ull
#define WORKER "/v/lib/python3.11/site-packages/vllm/v1/worker/gpu/model_runner.py"
#define MODULE "/v/lib/python3.11/site-packages/torch/nn/modules/module.py:1 Module._call_impl"

enum { ENGINE = 1, OUTPUTS = 2 };

static void in(uint32_t thread, const char *outer, const char *inner, const char *innermost)
{
    char texts[2][160];
    snprintf(texts[0], sizeof texts[0], WORKER ":1 GPUModelRunner.%s", outer);
    snprintf(texts[1], sizeof texts[1], WORKER ":9 GPUModelRunner.%s", inner ? inner : "");
    mt_build_on(builder, 0, thread,
                mt_build_stack(builder, "/u/serve.py:1 main", texts[0],
                               inner       ? texts[1]
                               : innermost ? innermost
                                           : NULL,
                               inner ? innermost : NULL, NULL));
}

static void pass(uint64_t bytes)
{
    mt_build_alloc(builder, BASE + (1ull << 40), bytes);
    mt_build_free(builder, BASE + (1ull << 40));
}

static void between(uint32_t thread)
{
    mt_build_on(builder, 0, thread, mt_build_stack(builder, "/u/serve.py:7 main", NULL));
    pass(10);
}

static void start_up(void)
{
    between(ENGINE);
    mt_build_alloc(builder, BASE, 100); /* no weights */
    in(ENGINE, "load_model", NULL, NULL);
    pass(3000);
    mt_build_alloc(builder, BASE + 4096, 2000);
    between(ENGINE);
    mt_build_alloc(builder, BASE + 8192, 50); /* after loading */
    in(ENGINE, "profile_run", "execute_model", MODULE);
    pass(5000);
    mt_build_alloc(builder, BASE + 12288, 7); /* stays */
    in(ENGINE, "profile_run", "sample_tokens", NULL);
    pass(600);
    in(ENGINE, "initialize_kv_cache", NULL, NULL);
    mt_build_alloc(builder, BASE + 16384, 40000);
}

static void serve(unsigned steps, uint64_t bytes)
{
    for (unsigned i = 0; i < steps; i++) {
        in(ENGINE, "execute_model", NULL, NULL);
        pass(100);
        in(ENGINE, "execute_model", NULL, MODULE);
        pass(i + 1 == steps ? bytes : 300);
        in(ENGINE, "execute_model", NULL, NULL);
        pass(100);
        between(OUTPUTS); /* does not end the step */
        in(ENGINE, "execute_model", NULL, MODULE);
        pass(200);
        in(ENGINE, "sample_tokens", NULL, NULL);
        pass(400);
        between(ENGINE);
    }
}

static const char *where(const struct mt_device *device)
{
    static char text[64];
    mt_span_text(text, sizeof text, device->spans, device->span);
    return text;
}

START_TEST(a_step_for_requests_is_an_iteration)
{
    start_up();
    serve(3, 500);
    const struct mt_device *device = analyze();
    ck_assert(device->spans->serves);
    ck_assert_uint_eq(device->spans->iterations, 3);
    ck_assert_uint_eq(device->at.allocated, 100 + 2000 + 50 + 7 + 40000 + 500);
    ck_assert_uint_eq(device->span->iteration, 3);
    ck_assert_str_eq(where(device), "step 3");
    ck_assert_int_eq(mt_device_part(device), MT_PART_IN);
    ck_assert_uint_eq(device->serving.work[MT_SERVING_STEP].times, 3);
    ck_assert_uint_eq(device->serving.work[MT_SERVING_SAMPLING].times, 3);
    ck_assert_uint_eq(device->serving.work[MT_SERVING_SAMPLING].most, 42157 + 400);
}
END_TEST

START_TEST(a_range_of_vllm_says_prefill_or_decode)
{
    static const char *const names[] = {"execute_context_2(35)_generation_0(0)",
                                        "execute_context_1(9)_generation_2(2)",
                                        "execute_context_0(0)_generation_3(3)", "other"};
    for (unsigned i = 0; i < 8; i++) {
        uint32_t name = mt_build_string(builder, names[i % 4]);
        in(ENGINE, "execute_model", NULL, NULL);
        pass(100); /* of the step, too */
        mt_build_event(builder, MT_RANGE_PUSH, name, 0, 0);
        pass(i % 4 == 2 ? 300 : 200 + i);
        mt_build_event(builder, MT_RANGE_POP, 0, 0, 0);
        between(ENGINE);
    }
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->spans->iterations, 8);
    ck_assert_uint_eq(device->serving.work[MT_SERVING_PREFILL].times, 4);
    ck_assert_uint_eq(device->serving.work[MT_SERVING_PREFILL].most, 205);
    ck_assert_uint_eq(device->serving.work[MT_SERVING_DECODE].times, 2);
    ck_assert_uint_eq(device->serving.work[MT_SERVING_DECODE].most, 300);
}
END_TEST

START_TEST(the_budget_has_what_loading_left_and_the_profile_run_took)
{
    start_up();
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->serving.weights, 2000);
    ck_assert_uint_eq(device->serving.activations, 100 + 2000 + 50 + 5000 - (100 + 2000 + 50 + 7));
    ck_assert_uint_eq(device->serving.work[MT_SERVING_PROFILE].times, 1);
    ck_assert_uint_eq(device->serving.work[MT_SERVING_STEP].times, 0);
    ck_assert_str_eq(where(device), "allocating the KV cache");
}
END_TEST

START_TEST(a_program_that_trains_keeps_its_iterations)
{
    for (unsigned i = 0; i < 3; i++) {
        serve(2, 500);
        mt_build_on(builder, 0, ENGINE,
                    mt_build_stack(builder, "/u/train.py:1 main",
                                   "/v/lib/python3.11/site-packages/torch/optim/optimizer.py:1 "
                                   "Optimizer.profile_hook_step.<locals>.wrapper",
                                   NULL));
        pass(800);
    }
    const struct mt_device *device = analyze();
    ck_assert(!device->spans->serves);
    ck_assert_uint_eq(device->spans->iterations, 3);
    ck_assert_str_eq(where(device), "the optimizer step of iteration 1");
    ck_assert_uint_eq(device->serving.work[MT_SERVING_STEP].times, 6);
}
END_TEST

START_TEST(captures_of_graphs_are_counted_with_their_segments)
{
    char name[64];
    uint32_t domain = mt_build_string(builder, "CUDA");
    start_up();
    mt_build_event(builder, MT_CUDA_MALLOC, BASE + (3ull << 40), 30 * MT_MIB, 0);
    in(ENGINE, "capture_model", NULL, NULL);
    mt_build_event(builder, MT_CUDA_FREE, BASE + (3ull << 40), 0, 0);
    for (unsigned i = 1; i <= 40; i++) {
        snprintf(name, sizeof name, "graph %u in pool (0, 1)", i);
        mt_build_event(builder, MT_RANGE_PUSH, mt_build_string(builder, name), domain, 0);
        if (i % 20 == 1)
            mt_build_event(builder, MT_CUDA_MALLOC, BASE + ((uint64_t)i << 30), 2 * MT_MIB, 0);
        pass(1000);
        mt_build_event(builder, MT_RANGE_POP, domain, 0, 0);
    }
    mt_build_event(builder, MT_CUDA_FREE, BASE + (1ull << 30), 0, 0); /* the last but one is left */
    mt_build_event(builder, MT_CUDA_MALLOC, BASE + (2ull << 40), 2 * MT_MIB, 0);
    in(ENGINE, "execute_model", NULL, MODULE);
    mt_build_event(builder, MT_CUDA_MALLOC, BASE + (3ull << 40), 500 * MT_MIB, 0);
    pass(2000);
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->serving.captures, 40);
    ck_assert_uint_eq(device->serving.graphs, 4 * MT_MIB);
    ck_assert_uint_eq(device->serving.captured, 4 * MT_MIB);
    ck_assert_uint_eq(device->private_pools.n, 1);
    ck_assert_str_eq(device->private_pools.pool[0].name, "graphs in pool (0, 1)");
    ck_assert_uint_eq(device->private_pools.pool[0].reserved, 2 * MT_MIB);
}
END_TEST

/* XLA's arena: most of the card in one allocation of CUDA's, whose blocks make no event. */
static const struct mt_foreign_pool *pool_of(const char *file, uint64_t bytes, const char *setting)
{
    char text[128];
    snprintf(text, sizeof text, "/v/site-packages/%s:233 put", file);
    mt_build_on(builder, 0, ENGINE, mt_build_stack(builder, "/u/j.py:4 main", text, NULL));
    mt_build_event(builder, MT_CUDA_MALLOC, BASE, bytes, 0);
    mt_build_event(builder, MT_CUDA_MALLOC, BASE + (1ull << 42), 20 * MT_MIB, 0);
    if (setting)
        mt_build_info(builder, setting);
    return &analyze()->foreign_pool;
}

START_TEST(a_librarys_own_pool_is_named)
{
    const struct mt_foreign_pool *pool =
        pool_of("jax/_src/interpreters/pxla.py", 60000 * MT_MIB, NULL);
    ck_assert_uint_eq(pool->bytes, 60000 * MT_MIB);
    ck_assert_str_eq(pool->package, "jax");
    ck_assert_str_eq(pool->setting, "XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async "
                                    "XLA_PYTHON_CLIENT_PREALLOCATE=false");
}
END_TEST

/* ONNX Runtime's arena: pieces that double. What it asks for block by block has any sizes. */
static const struct mt_foreign_pool *pieces_of(const char *file, uint64_t third)
{
    const uint64_t sizes[] = {64 * MT_MIB, 64 * MT_MIB, third};
    char text[128];
    snprintf(text, sizeof text, "/v/site-packages/%s:395 run", file);
    mt_build_on(builder, 0, ENGINE, mt_build_stack(builder, "/u/j.py:4 main", text, NULL));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        mt_build_event(builder, MT_CUDA_MALLOC, BASE + (i << 32), sizes[i], 0);
    return &analyze()->foreign_pool;
}

START_TEST(a_pool_that_doubles_is_named)
{
    const struct mt_foreign_pool *pool =
        pieces_of("onnxruntime/capi/onnxruntime_inference_collection.py", 128 * MT_MIB);
    ck_assert_uint_eq(pool->bytes, 256 * MT_MIB);
    ck_assert_uint_eq(pool->pieces, 3);
    ck_assert_str_eq(pool->package, "onnxruntime");
    ck_assert_str_eq(pool->setting, "arena_extend_strategy=kSameAsRequested");
}
END_TEST

START_TEST(other_pieces_are_no_pool)
{
    static const struct {
        const char *file;
        uint64_t third;
    } cases[] = {
        {"onnxruntime/capi/onnxruntime_inference_collection.py", 128 * MT_MIB + 256},
        {"onnxruntime/capi/onnxruntime_inference_collection.py", 64 * MT_MIB},
        {"onnxruntime/capi/onnxruntime_inference_collection.py", MT_MIB / 2},
        {"own/arrays.py", 128 * MT_MIB},
    };
    ck_assert_uint_eq(pieces_of(cases[_i].file, cases[_i].third)->bytes, 0);
}
END_TEST

START_TEST(other_allocations_are_no_pools)
{
    static const struct {
        const char *file;
        uint64_t bytes;
        const char *setting;
    } cases[] = {
        {"jax/_src/interpreters/pxla.py", 60000 * MT_MIB,
         "env.XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async"},
        {"tensorflow/python/framework/constant_op.py", 60000 * MT_MIB,
         "env.TF_GPU_ALLOCATOR=cuda_malloc_async"},
        {"tensorflow/python/framework/constant_op.py", 500 * MT_MIB, NULL},
        {"own/arrays.py", 60000 * MT_MIB, NULL},
    };
    ck_assert_uint_eq(pool_of(cases[_i].file, cases[_i].bytes, cases[_i].setting)->bytes, 0);
}
END_TEST

static void cache(uint64_t address, uint64_t tokens, uint64_t longest, uint64_t each)
{
    mt_build_alloc(builder, address, 1000);
    mt_build_event(builder, MT_MEMBER, address, MT_MEMBER_OF_CACHE, 0);
    mt_build_event4(builder, MT_ROOM, address, tokens, longest, each);
}

START_TEST(the_largest_live_cache_says_how_many_tokens_have_room)
{
    between(ENGINE);
    cache(BASE, 4000, 100, 100); /* freed before the peak */
    cache(BASE + 4096, 500, 60, 64);
    cache(BASE + 8192, 1000, 100, 112);
    mt_build_event4(builder, MT_ROOM, BASE + 8192, 1100, 100, 112); /* it says it anew */
    mt_build_alloc(builder, BASE + 12288, 1000);                    /* no cache */
    mt_build_event4(builder, MT_ROOM, BASE + 12288, 9000, 100, 100);
    mt_build_free(builder, BASE);
    pass(90000);
    const struct mt_cache_room *found = &analyze()->cache_room;
    ck_assert_uint_eq(found->room.tokens, 1100);
    ck_assert_uint_eq(found->room.longest, 100);
    ck_assert_uint_eq(found->sequences, 9);
    ck_assert(!found->is_least);
}
END_TEST

START_TEST(room_of_which_less_is_known)
{
    static const struct {
        uint64_t tokens, longest, sequences;
        bool is_least;
    } cases[] = {{1000, 100, 10, true}, {1000, 0, 0, false}, {UINT64_MAX, 1, UINT64_MAX, true}};
    between(ENGINE);
    cache(BASE, cases[_i].tokens, cases[_i].longest, 0);
    const struct mt_cache_room *found = &analyze()->cache_room;
    ck_assert_uint_eq(found->room.tokens, cases[_i].tokens);
    ck_assert_uint_eq(found->sequences, cases[_i].sequences);
    ck_assert(found->is_least == cases[_i].is_least);
}
END_TEST

START_TEST(no_cache_has_no_room)
{
    between(ENGINE);
    pass(1000);
    ck_assert_uint_eq(analyze()->cache_room.room.tokens, 0);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("serving");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_step_for_requests_is_an_iteration);
    tcase_add_test(tests, a_range_of_vllm_says_prefill_or_decode);
    tcase_add_test(tests, the_budget_has_what_loading_left_and_the_profile_run_took);
    tcase_add_test(tests, a_program_that_trains_keeps_its_iterations);
    tcase_add_test(tests, captures_of_graphs_are_counted_with_their_segments);
    tcase_add_test(tests, the_largest_live_cache_says_how_many_tokens_have_room);
    tcase_add_loop_test(tests, room_of_which_less_is_known, 0, 3);
    tcase_add_test(tests, no_cache_has_no_room);
    tcase_add_test(tests, a_librarys_own_pool_is_named);
    tcase_add_test(tests, a_pool_that_doubles_is_named);
    tcase_add_loop_test(tests, other_pieces_are_no_pool, 0, 4);
    tcase_add_loop_test(tests, other_allocations_are_no_pools, 0, 4);
    return RUN_TESTS(tests);
}
