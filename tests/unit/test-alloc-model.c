/* SPDX-License-Identifier: Apache-2.0 */
/* The model of the allocator by itself; tests/planner compares it with PyTorch's own. */
#include "planner/allocator/model.h"
#include "tests/support/run-tests.h"

#include <errno.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

static struct mt_allocator *make(const char *settings, uint64_t total)
{
    struct mt_torch_release release = {2, 15};
    struct mt_allocator_card card = {total, 0};
    struct mt_alloc_conf_error error;
    struct mt_alloc_conf conf;
    struct mt_allocator *allocator;

    mt_alloc_conf_init(&conf);
    ck_assert_int_eq(mt_alloc_conf_read(&conf, release, settings, &error), 0);
    allocator = mt_allocator_create(&conf, release, &card);
    ck_assert_ptr_nonnull(allocator);
    return allocator;
}

static int feed(struct mt_allocator *allocator, struct mt_request request)
{
    return mt_allocator_feed(allocator, &request, 1);
}

static void allocate(struct mt_allocator *allocator, uint32_t block, uint64_t size)
{
    ck_assert_int_eq(
        feed(allocator,
             (struct mt_request){.kind = MT_REQUEST_ALLOCATE, .block = block, .size = size}),
        0);
}

static void give(struct mt_allocator *allocator, uint32_t block)
{
    ck_assert_int_eq(feed(allocator, (struct mt_request){.kind = MT_REQUEST_FREE, .block = block}),
                     0);
}

static uint64_t reserved(const struct mt_allocator *allocator)
{
    return mt_allocator_now(allocator)->reserved;
}

/* A model that begins with what another has serves the next requests from it. */
START_TEST(held)
{
    struct mt_torch_release release = {2, 15};
    struct mt_held_piece piece[] = {
        {.size = 4 * MIB, .requested = 4 * MIB - 100, .block = 7, .is_first = true},
        {.size = 12 * MIB, .is_free = true},
        {.size = 4 * MIB, .requested = 4 * MIB, .block = 8},
        {.size = 32 * MIB, .is_first = true, .is_free = true},
    };
    struct mt_allocator_card card = {.total = 1024 * MIB, .held = piece, .n_held = 4};
    struct mt_alloc_conf conf;
    mt_alloc_conf_init(&conf);
    struct mt_allocator *allocator = mt_allocator_create(&conf, release, &card);
    ck_assert_ptr_nonnull(allocator);
    const struct mt_allocator_state *now = mt_allocator_now(allocator);
    ck_assert_uint_eq(now->reserved, 52 * MIB);
    ck_assert_uint_eq(now->allocated, 8 * MIB);
    ck_assert_uint_eq(now->requested, 8 * MIB - 100);
    ck_assert_uint_eq(now->segments, 2);
    ck_assert_uint_eq(now->inactive_split, 12 * MIB);
    allocate(allocator, 7, 4 * MIB - 100); /* it has it */
    ck_assert_uint_eq(now->allocated, 8 * MIB);
    allocate(allocator, 0, 12 * MIB);
    allocate(allocator, 1, 32 * MIB);
    ck_assert_uint_eq(reserved(allocator), 52 * MIB);
    allocate(allocator, 2, 2 * MIB);
    ck_assert_uint_eq(reserved(allocator), 72 * MIB);
    give(allocator, 7);
    give(allocator, 0);
    give(allocator, 8); /* whose allocation was not fed */
    allocate(allocator, 3, 20 * MIB);
    ck_assert_uint_eq(reserved(allocator), 72 * MIB);
    allocate(allocator, 7, 30 * MIB); /* the number is free for another block */
    ck_assert_uint_eq(reserved(allocator), 102 * MIB);
    mt_allocator_destroy(allocator);
}
END_TEST

START_TEST(sizes)
{
    struct mt_allocator *allocator = make("", 1024 * MIB);

    allocate(allocator, 0, 1);
    ck_assert_uint_eq(mt_allocator_now(allocator)->allocated, 512);
    ck_assert_uint_eq(reserved(allocator), 2 * MIB);
    allocate(allocator, 1, 2 * MIB);
    ck_assert_uint_eq(reserved(allocator), 22 * MIB);
    allocate(allocator, 2, 60000000); /* a rest of a MiB or less stays with the block */
    ck_assert_uint_eq(mt_allocator_now(allocator)->allocated, 512 + 2 * MIB + 60817408);
    ck_assert_uint_eq(mt_allocator_now(allocator)->requested, 1 + 2 * MIB + 60000000);
    for (uint32_t i = 0; i < 3; i++)
        give(allocator, i);
    ck_assert_uint_eq(reserved(allocator), 22 * MIB + 60817408);
    ck_assert_int_eq(feed(allocator, (struct mt_request){.kind = MT_REQUEST_EMPTY_CACHE}), 0);
    ck_assert_uint_eq(reserved(allocator), 0);
    ck_assert_uint_eq(mt_allocator_peak(allocator)->reserved, 22 * MIB + 60817408);
    mt_allocator_destroy(allocator);
}
END_TEST

START_TEST(out_of_memory)
{
    struct mt_allocator *allocator = make("", 100 * MIB);
    const struct mt_allocator_oom *oom;

    allocate(allocator, 0, 60 * MIB);
    ck_assert_ptr_null(mt_allocator_first_oom(allocator));
    allocate(allocator, 1, 41 * MIB);
    oom = mt_allocator_first_oom(allocator);
    ck_assert_ptr_nonnull(oom);
    ck_assert_uint_eq(oom->index, 1);
    ck_assert_uint_eq(oom->requested, 41 * MIB);
    ck_assert_uint_eq(oom->wanted, 42 * MIB);
    ck_assert_uint_eq(oom->card_free, 40 * MIB);
    give(allocator, 1); /* it is not there, and that is no error */
    give(allocator, 0);
    allocate(allocator, 1, 41 * MIB); /* within the cached 60 MiB */
    ck_assert_uint_eq(reserved(allocator), 60 * MIB);
    ck_assert_uint_eq(mt_allocator_now(allocator)->ooms, 1);
    allocate(allocator, 2, 80 * MIB); /* too much beside it */
    ck_assert_uint_eq(mt_allocator_now(allocator)->ooms, 2);
    ck_assert_uint_eq(mt_allocator_fed(allocator), 6);
    mt_allocator_destroy(allocator);
}
END_TEST

/* A block that another stream uses can be had again when the free is complete. */
START_TEST(streams)
{
    struct mt_allocator *allocator = make("", 1024 * MIB);

    allocate(allocator, 0, 20 * MIB);
    ck_assert_int_eq(
        feed(allocator,
             (struct mt_request){.kind = MT_REQUEST_RECORD_STREAM, .block = 0, .stream = 1}),
        0);
    give(allocator, 0);
    ck_assert_uint_eq(mt_allocator_now(allocator)->allocated, 0);
    ck_assert_uint_eq(mt_allocator_now(allocator)->active, 20 * MIB);
    allocate(allocator, 1, 20 * MIB);
    ck_assert_uint_eq(reserved(allocator), 40 * MIB);
    ck_assert_int_eq(feed(allocator, (struct mt_request){.kind = MT_REQUEST_COMPLETE, .block = 0}),
                     0);
    allocate(allocator, 2, 20 * MIB);
    ck_assert_uint_eq(reserved(allocator), 40 * MIB);
    mt_allocator_destroy(allocator);
}
END_TEST

START_TEST(expandable)
{
    struct mt_allocator *allocator = make("expandable_segments:True", 1024 * MIB);

    for (uint32_t i = 0; i < 8; i++)
        allocate(allocator, i, 30 * MIB);
    ck_assert_uint_eq(reserved(allocator), 240 * MIB);
    for (uint32_t i = 0; i < 8; i += 2)
        give(allocator, i);
    ck_assert_int_eq(feed(allocator, (struct mt_request){.kind = MT_REQUEST_EMPTY_CACHE}), 0);
    ck_assert_uint_eq(reserved(allocator), 160 * MIB); /* whole handles of 20 MiB */
    ck_assert_uint_eq(mt_allocator_now(allocator)->segments, 0);
    mt_allocator_destroy(allocator);
}
END_TEST

START_TEST(impossible)
{
    static const struct mt_request wrong[] = {
        {.kind = MT_REQUEST_FREE, .block = 7},
        {.kind = MT_REQUEST_ALLOCATE, .block = 1, .size = 0},
        {.kind = MT_REQUEST_ALLOCATE, .block = UINT32_MAX, .size = 1},
        {.kind = MT_REQUEST_RECORD_STREAM, .block = 1, .stream = 1},
        {.kind = MT_REQUEST_POOL_END, .pool = 1},
        {.kind = MT_REQUEST_POOL_BEGIN},
        {.kind = MT_REQUEST_POOL_RELEASE, .pool = 1},
        {.kind = MT_REQUEST_FRACTION, .size = UINT64_MAX},
        {.kind = MT_N_REQUEST_KINDS},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct mt_allocator *allocator = make("", 100 * MIB);

        ck_assert_int_eq(mt_allocator_feed(allocator, &wrong[i], 1), -EINVAL);
        ck_assert_uint_eq(mt_allocator_fed(allocator), 0);
        mt_allocator_destroy(allocator);
    }
}
END_TEST

/* What is allocated at random and freed is whole again, in each kind of segment. */
START_TEST(all_returns)
{
    static const char *const settings[] = {"", "expandable_segments:True", "max_split_size_mb:40",
                                           "backend:cudaMallocAsync"};
    uint64_t random = 1;

    for (size_t which = 0; which < 4; which++) {
        struct mt_allocator *allocator = make(settings[which], 4096 * MIB);
        bool live[500] = {false};

        for (unsigned i = 0; i < 50000; i++) {
            uint32_t block;

            random = random * 6364136223846793005 + 1442695040888963407;
            block = (uint32_t)(random >> 33) % 500;
            if (live[block])
                give(allocator, block);
            else
                allocate(allocator, block, 1 + (random >> 20) % (MIB << (random >> 61)));
            live[block] = !live[block];
        }
        for (uint32_t block = 0; block < 500; block++)
            if (live[block])
                give(allocator, block);
        ck_assert_int_eq(feed(allocator, (struct mt_request){.kind = MT_REQUEST_EMPTY_CACHE}), 0);
        ck_assert_uint_eq(reserved(allocator), 0);
        ck_assert_uint_eq(mt_allocator_now(allocator)->inactive_split, 0);
        ck_assert_uint_eq(mt_allocator_now(allocator)->requested, 0);
        ck_assert_uint_eq(mt_allocator_now(allocator)->segments, 0);
        mt_allocator_destroy(allocator);
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("alloc-model");

    tcase_add_test(tests, held);
    tcase_add_test(tests, sizes);
    tcase_add_test(tests, out_of_memory);
    tcase_add_test(tests, streams);
    tcase_add_test(tests, expandable);
    tcase_add_test(tests, impossible);
    tcase_add_test(tests, all_returns);
    return RUN_TESTS(tests);
}
