/* SPDX-License-Identifier: Apache-2.0 */
/* What handles of cuBLAS and cuDNN take of the card, and what a backward still takes. */
#include "analyzed.h"
#include "planner/advice/trial.h"
#include "planner/requests/gather.h"
#include "tests/support/run-tests.h"

#include <string.h>

#define MIB (UINT64_C(1) << 20)
#define A UINT64_C(0x7f0000000000)
#define LIBRARIES "/v/site-packages/nvidia/cu13/lib/"

static struct mt_builder *builder;
static struct mt_analysis analysis;
static struct mt_gathering *gathering;
static struct mt_watcher watcher;
static uint64_t next;

static void begin(void)
{
    builder = mt_builder_create();
    mt_build_on(builder, 0, 1, mt_build_stack(builder, "/u/t.py:1 main", NULL));
    mt_build_event4(builder, MT_ALLOC, A, 20 * MIB, 20 * MIB, 20 * MIB);
    next = A + 64 * MIB;
}

static void end(void)
{
    mt_gathering_destroy(gathering);
    mt_analysis_destroy(&analysis);
    mt_builder_destroy(builder);
}

static void make_handle(const char *library, unsigned thread, uint64_t bytes)
{
    uint32_t stack =
        mt_build_stack(builder, "/u/t.py:2 main", "/v/site-packages/torch/lib/libtorch_cuda.so@11",
                       library, LIBRARIES "libcudart.so.13@12", NULL);
    mt_build_on(builder, 0, thread, stack);
    mt_build_event(builder, MT_CUDA_MALLOC, next, bytes, 0);
    next += 128 * MIB;
}

static void run_node(unsigned thread)
{
    mt_build_on(builder, 0, thread, 0);
    mt_build_event(builder, MT_NODE_BEGIN, 0x1000, mt_build_string(builder, "AddmmBackward0"), 0);
}

static struct mt_handles_to_come to_come(const struct mt_handles **handles)
{
    size_t n;
    gathering = mt_gathering_create();
    watcher = (struct mt_watcher){mt_gather, gathering};
    struct mt_question question = {.watcher = &watcher};
    mt_build_end(builder);
    mt_analyze(&analysis, builder, &question);
    const struct mt_requests *requests = mt_gathering_finish(gathering, &n);
    ck_assert_uint_eq(n, 1);
    *handles = &requests->handles;
    return mt_handles_of_backward(&requests->handles);
}

START_TEST(backward_needs_as_much_as_forward)
{
    const struct mt_handles *handles;
    char text[MT_HANDLES_TEXT];
    make_handle(LIBRARIES "libcublas.so.13@7", 1, MIB);
    make_handle(LIBRARIES "libcublas.so.13@8", 1, 64 * MIB);
    make_handle(LIBRARIES "libcusolver.so.12@9", 1, 96 * MIB);
    make_handle("/v/lib/libmine.so@9", 1, 7 * MIB);
    struct mt_handles_to_come found = to_come(&handles);
    ck_assert_uint_eq(found.bytes, 65 * MIB);
    ck_assert(!found.lacks);
    ck_assert_uint_eq(mt_handles_bytes(handles), 161 * MIB);
    ck_assert_str_eq(mt_handles_text(text, sizeof text, &found, "; "),
                     "with 65.00 MiB for the handles of backward's thread");
}
END_TEST

START_TEST(backward_with_its_handle_needs_no_more)
{
    const struct mt_handles *handles;
    char text[MT_HANDLES_TEXT];
    make_handle(LIBRARIES "libcublas.so.13@7", 1, 64 * MIB);
    run_node(2);
    make_handle(LIBRARIES "libcublas.so.13@7", 2, 64 * MIB);
    struct mt_handles_to_come found = to_come(&handles);
    ck_assert_uint_eq(found.bytes, 0);
    ck_assert_uint_eq(mt_handles_bytes(handles), 128 * MIB);
    ck_assert_str_eq(mt_handles_text(text, sizeof text, &found, "; "), "");
}
END_TEST

START_TEST(what_the_run_had_not_is_said)
{
    const struct mt_handles *handles;
    char text[MT_HANDLES_TEXT];
    make_handle(LIBRARIES "libcudnn.so.9@7", 1, 25344);
    struct mt_handles_to_come found = to_come(&handles);
    ck_assert_uint_eq(found.bytes, 10 * MIB + 25344); /* with its streams */
    ck_assert(found.lacks);
    ck_assert_str_eq(mt_handles_text(text, sizeof text, &found, "; "),
                     "with 10.02 MiB for the handles of backward's thread; without cuBLAS "
                     "handles: the run had none (64 MiB per thread on an H100)");
}
END_TEST

static struct mt_trial_result try_on(uint64_t card, uint16_t flag)
{
    const struct mt_request request[] = {
        {.size = 20 * MIB, .kind = MT_REQUEST_ALLOCATE},
        {.kind = MT_REQUEST_FREE},
        {.size = 64 * MIB, .stream = flag, .kind = MT_REQUEST_OTHERS},
        {.size = 16 * MIB, .kind = MT_REQUEST_ALLOCATE},
    };
    struct mt_trial trial = {.request = request, .n = 4, .release = {.major = 2, .minor = 15}};
    struct mt_trial_result result;
    mt_alloc_conf_init(&trial.conf);
    ck_assert_int_eq(mt_trial_run(&trial, card, &result), 0);
    return result;
}

/* PyTorch does not give its cache back for a handle. */
START_TEST(a_handle_needs_its_bytes_at_once)
{
    ck_assert(try_on(84 * MIB, 1).fits);
    ck_assert(!try_on(83 * MIB, 1).fits);
    ck_assert(try_on(83 * MIB, 0).fits);
}
END_TEST

int main(void)
{
    TCase *test = tcase_create("of a run"), *trial = tcase_create("on a card");
    tcase_add_checked_fixture(test, begin, end);
    tcase_add_test(test, backward_needs_as_much_as_forward);
    tcase_add_test(test, backward_with_its_handle_needs_no_more);
    tcase_add_test(test, what_the_run_had_not_is_said);
    tcase_add_test(trial, a_handle_needs_its_bytes_at_once);
    return RUN_TESTS(test, trial);
}
