/* SPDX-License-Identifier: Apache-2.0 */
/* Between PyTorch and the device: segments that grow, and PyTorch without its own allocator. */
#include "analyzer/findings/analysis.h"
#include "analyzer/report/oom-report.h"
#include "device-fixture.h"
#include "scenarios.h"
#include "tests/support/run-tests.h"
#include "trace-format/cuda-apis.h"

#include <check.h>

#define A 0x7f0000000000ull
#define HANDLE 0x5500ull
#define PIECE (20 * MT_MIB)
#define TORCH "/v/lib/python3.11/site-packages/torch/"

/* A piece of an expandable segment; the map is called with no device current. */
static void map_piece(unsigned i)
{
    mt_build_on(builder, 0, 1, 0);
    mt_build_event4(builder, MT_CUDA_MALLOC, HANDLE + i, PIECE, 0, MT_API_CU_MEM_CREATE);
    mt_build_on(builder, MT_NO_DEVICE, 1, 0);
    mt_build_event4(builder, MT_CUDA_MAP, A + i * PIECE, PIECE, HANDLE + i, MT_API_CU_MEM_MAP);
    mt_build_on(builder, 0, 1, 0);
}

static void unmap_piece(unsigned i)
{
    mt_build_event(builder, MT_CUDA_UNMAP, A + i * PIECE, PIECE, MT_API_CU_MEM_UNMAP);
    mt_build_event(builder, MT_CUDA_FREE, HANDLE + i, MT_API_CU_MEM_RELEASE, 0);
}

START_TEST(pieces_that_are_mapped_are_one_segment)
{
    map_piece(1);
    map_piece(0);
    mt_build_alloc(builder, A + 10 * MT_MIB, 24 * MT_MIB); /* across both */
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->at.cuda_bytes, 2 * PIECE);
    ck_assert_uint_eq(device->segments.n, 1);
    ck_assert_uint_eq(device->segments.expandable, 1);
    ck_assert_uint_eq(device->segments.unplaced, 0);
    const struct mt_pool_state *pool = &device->segments.pool[MT_POOL_LARGE];
    ck_assert_uint_eq(pool->reserved, 2 * PIECE);
    ck_assert_uint_eq(pool->free, 16 * MT_MIB);
    ck_assert_uint_eq(pool->largest_free, 10 * MT_MIB);
    ck_assert_uint_eq(pool->pieces, 2);
}
END_TEST

START_TEST(what_is_unmapped_is_in_no_segment)
{
    question.moment.kind = MT_AT_END;
    for (unsigned i = 0; i < 4; i++)
        map_piece(i);
    mt_build_alloc(builder, A, PIECE);
    mt_build_alloc(builder, A + 3 * PIECE, 2 * MT_MIB);
    unmap_piece(1);
    unmap_piece(2);
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->at.cuda_bytes, 2 * PIECE);
    ck_assert_uint_eq(device->segments.n, 2);
    ck_assert_uint_eq(device->segments.pool[MT_POOL_LARGE].free, PIECE - 2 * MT_MIB);
}
END_TEST

START_TEST(one_unmap_may_take_several_pieces)
{
    question.moment.kind = MT_AT_END;
    for (unsigned i = 0; i < 3; i++)
        map_piece(i);
    mt_build_alloc(builder, A, 4096);
    mt_build_event(builder, MT_CUDA_UNMAP, A + PIECE, 2 * PIECE, MT_API_CU_MEM_UNMAP);
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->segments.n, 1);
    ck_assert_uint_eq(device->segments.segment[0].size, PIECE);
}
END_TEST

static uint64_t live_at_end(void)
{
    question.moment.kind = MT_AT_END;
    return analyze()->at.cuda_bytes;
}

static void release(uint64_t handle)
{
    mt_build_event(builder, MT_CUDA_FREE, handle, MT_API_CU_MEM_RELEASE, 0);
}

static void unmap(unsigned i)
{
    mt_build_event(builder, MT_CUDA_UNMAP, A + i * PIECE, PIECE, MT_API_CU_MEM_UNMAP);
}

START_TEST(a_mapping_keeps_memory_whose_handle_was_released)
{
    map_piece(0);
    release(HANDLE);
    ck_assert_uint_eq(live_at_end(), PIECE);
    ck_assert_uint_eq(analysis.replay.cuda.unknown, 0);
}
END_TEST

START_TEST(the_last_unmap_frees_memory_whose_handle_was_released)
{
    map_piece(0);
    map_piece(1);
    release(HANDLE);
    unmap(0);
    ck_assert_uint_eq(live_at_end(), PIECE);
    ck_assert_uint_eq(analysis.replay.of_cuda.peak[mt_device_slot(0)].allocated, 2 * PIECE);
    ck_assert_uint_eq(analysis.replay.cuda.unknown, 0);
}
END_TEST

START_TEST(a_handle_keeps_memory_that_is_mapped_nowhere)
{
    map_piece(0);
    unmap(0);
    ck_assert_uint_eq(live_at_end(), PIECE);
}
END_TEST

START_TEST(a_retained_handle_takes_one_more_release)
{
    map_piece(0);
    mt_build_event4(builder, MT_CUDA_MALLOC, HANDLE, 0, 0, MT_API_CU_MEM_RETAIN);
    release(HANDLE);
    unmap(0);
    ck_assert_uint_eq(live_at_end(), PIECE);
}
END_TEST

START_TEST(after_all_releases_nothing_is_left)
{
    map_piece(0);
    map_piece(1);
    mt_build_event4(builder, MT_CUDA_MALLOC, HANDLE, 0, 0, MT_API_CU_MEM_RETAIN);
    release(HANDLE);
    unmap(0);
    release(HANDLE);
    ck_assert_uint_eq(live_at_end(), PIECE);
    ck_assert_uint_eq(analysis.replay.cuda.unknown, 0);
}
END_TEST

START_TEST(a_release_that_failed_keeps_the_handle)
{
    map_piece(0);
    release(HANDLE);
    mt_build_event(builder, MT_CUDA_FREE_FAILED, HANDLE, 1, MT_API_CU_MEM_RELEASE);
    unmap(0);
    ck_assert_uint_eq(live_at_end(), PIECE);
}
END_TEST

START_TEST(imported_memory_is_nobodys_here)
{
    map_piece(0);
    mt_build_event4(builder, MT_CUDA_MALLOC, HANDLE + 7, 0, 0, MT_API_CU_MEM_IMPORT);
    mt_build_event4(builder, MT_CUDA_MAP, A + 7 * PIECE, PIECE, HANDLE + 7, MT_API_CU_MEM_MAP);
    release(HANDLE + 7);
    unmap(7);
    ck_assert_uint_eq(live_at_end(), PIECE);
    ck_assert_uint_eq(analysis.replay.cuda.unknown, 0);
}
END_TEST

START_TEST(growing_segments_need_no_advice_to_grow)
{
    struct mt_oom_story story;
    question.moment.kind = MT_AT_OOM;
    map_piece(0);
    map_piece(1);
    mt_build_alloc(builder, A + 10 * MT_MIB, 10 * MT_MIB);
    mt_build_event(builder, MT_OOM, 21 * MT_MIB, 10 * MT_MIB, 40 * MT_MIB);
    analyze();
    ck_assert_int_eq(mt_oom_explain(&story, &analysis), 0);
    ck_assert_uint_eq(story.segment, 40 * MT_MIB);
    ck_assert_int_eq(story.knows_pieces, 1);
    ck_assert_uint_eq(story.cached, 30 * MT_MIB);
    ck_assert(!story.would_fit_expandable); /* nobody replayed it */
}
END_TEST

START_TEST(the_oom_is_reported_after_what_was_freed)
{
    question.moment.kind = MT_AT_OOM;
    mt_build_event(builder, MT_CUDA_MALLOC, A, 20 * MT_MIB, 0);
    mt_build_event(builder, MT_CUDA_MALLOC, A + PIECE, 20 * MT_MIB, 0);
    mt_build_alloc(builder, A, 20 * MT_MIB);
    mt_build_event(builder, MT_CUDA_FREE, A + PIECE, MT_API_CUDA_FREE, 0);
    mt_build_event(builder, MT_OOM, 5000 * MT_MIB, 20 * MT_MIB, 20 * MT_MIB);
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->at.cuda_bytes, 20 * MT_MIB);
    ck_assert_uint_eq(device->cached, 0);
}
END_TEST

/* A model's forward, backward and step with tensors that CUDA handed out itself. */
static void train_without_allocator(enum mt_kind malloc_kind, enum mt_cuda_api api)
{
    uint32_t apply = mt_build_stack(builder, "/u/t.py:1 main",
                                    TORCH "nn/modules/module.py:9 Module._apply", NULL);
    uint32_t call = mt_build_stack(builder, "/u/t.py:3 main",
                                   TORCH "nn/modules/module.py:1 Module._call_impl", NULL);
    uint32_t step = mt_build_stack(
        builder, "/u/t.py:4 main",
        TORCH "optim/optimizer.py:9 Optimizer.profile_hook_step.<locals>.wrapper", NULL);
    uint32_t end_of_step = mt_build_stack(builder, "/u/t.py:5 main", NULL);
    uint32_t name = mt_build_string(builder, "N5torch8autograd9generated14AddmmBackward0E");
    mt_build_on(builder, 0, 1, apply);
    mt_build_event4(builder, malloc_kind, A, 1000, 0, api);
    mt_build_event(builder, MT_SET_DATA, A, 0, 0);
    mt_build_on(builder, 0, 1, call);
    mt_build_event4(builder, malloc_kind, A + 4096, 2000, 0, api);
    mt_build_event(builder, MT_NODE_NEW, 0x10, A + 4096 + 64, 0); /* a view */
    mt_build_on(builder, 0, 2, 0);
    mt_build_event(builder, MT_NODE_BEGIN, 0x10, name, 0);
    mt_build_event4(builder, malloc_kind, A + 8192, 1001, 0, api);
    mt_build_event(builder, MT_GRADIENT, A + 8192, 0, 0);
    mt_build_event(builder, MT_NODE_END, 0x10, 0, 0);
    mt_build_on(builder, 0, 1, step);
    mt_build_event4(builder, malloc_kind, A + 12288, 4000, 0, api);
    mt_build_on(builder, 0, 1, end_of_step);
    mt_build_event(builder, MT_LEAF, A, 0, 0);
}

static void check_training(void)
{
    const uint64_t sizes[] = {1000, 2000, 1001, 4000};
    const struct mt_device *device = analyze();
    ck_assert_int_eq(device->of_cuda, 1);
    const enum mt_category categories[] = {MT_CATEGORY_PARAMETERS, MT_CATEGORY_ACTIVATIONS,
                                           MT_CATEGORY_GRADIENTS, MT_CATEGORY_OPTIMIZER_STATE};
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(device->category[categories[i]].bytes, sizes[i]);
    ck_assert_ptr_nonnull(device->span);
    ck_assert_int_eq(device->span->phase, MT_PHASE_STEP);
    ck_assert_uint_eq(device->span->iteration, 1);
}

START_TEST(without_a_cache_cudas_blocks_are_distinguished)
{
    train_without_allocator(MT_CUDA_MALLOC, MT_API_CUDA_MALLOC);
    check_training();
}
END_TEST

START_TEST(with_cudas_pools_blocks_are_distinguished)
{
    train_without_allocator(MT_CUDA_MALLOC_ASYNC, MT_API_CUDA_MALLOC_ASYNC);
    check_training(); /* a pool counts what was requested, as PyTorch then does */
}
END_TEST

START_TEST(cuda_running_out_is_an_oom_where_pytorch_has_no_cache)
{
    struct mt_oom_story story;
    question.moment.kind = MT_AT_OOM;
    mt_build_event(builder, MT_CUDA_MALLOC, A, 1000, 0);
    mt_build_event(builder, MT_CUDA_MALLOC, 0, 5000, 2);
    mt_build_event(builder, MT_CUDA_MALLOC, 0, 5000, 2); /* tried again */
    analyze();
    ck_assert_uint_eq(analysis.replay.ooms.n, 1);
    ck_assert_int_eq(mt_oom_explain(&story, &analysis), 0);
    ck_assert_uint_eq(story.oom->wanted, 5000);
    ck_assert_uint_eq(story.oom->allocated, 1000);
    ck_assert_int_eq(story.oom->went_on, 0);
}
END_TEST

START_TEST(pytorchs_oom_is_not_counted_twice)
{
    mt_build_event(builder, MT_CUDA_MALLOC, 0, 20 * MT_MIB, 2);
    mt_build_event(builder, MT_OOM, 9 * MT_MIB, 0, 0);
    mt_build_event(builder, MT_CUDA_MALLOC, A, PIECE, 0);
    mt_build_alloc(builder, A, 4096);
    mt_build_event(builder, MT_CUDA_MALLOC, 0, 20 * MT_MIB, 2); /* PyTorch frees, and tries again */
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(analysis.replay.ooms.n, 1);
    ck_assert_uint_eq(analysis.replay.ooms.kept[0].wanted, 9 * MT_MIB);
    ck_assert_int_eq(analysis.replay.ooms.kept[0].went_on, 1);
    ck_assert_int_eq(device->of_cuda, 0);
    ck_assert_uint_eq(device->peak.allocated, 4096);
}
END_TEST

int main(void)
{
    TCase *segments = tcase_create("segments"), *blocks = tcase_create("blocks");
    tcase_add_checked_fixture(segments, begin, end);
    tcase_add_test(segments, pieces_that_are_mapped_are_one_segment);
    tcase_add_test(segments, what_is_unmapped_is_in_no_segment);
    tcase_add_test(segments, one_unmap_may_take_several_pieces);
    tcase_add_test(segments, a_mapping_keeps_memory_whose_handle_was_released);
    tcase_add_test(segments, the_last_unmap_frees_memory_whose_handle_was_released);
    tcase_add_test(segments, a_handle_keeps_memory_that_is_mapped_nowhere);
    tcase_add_test(segments, a_retained_handle_takes_one_more_release);
    tcase_add_test(segments, after_all_releases_nothing_is_left);
    tcase_add_test(segments, a_release_that_failed_keeps_the_handle);
    tcase_add_test(segments, imported_memory_is_nobodys_here);
    tcase_add_test(segments, growing_segments_need_no_advice_to_grow);
    tcase_add_test(segments, the_oom_is_reported_after_what_was_freed);
    tcase_add_checked_fixture(blocks, begin, end);
    tcase_add_test(blocks, without_a_cache_cudas_blocks_are_distinguished);
    tcase_add_test(blocks, with_cudas_pools_blocks_are_distinguished);
    tcase_add_test(blocks, cuda_running_out_is_an_oom_where_pytorch_has_no_cache);
    tcase_add_test(blocks, pytorchs_oom_is_not_counted_twice);
    return RUN_TESTS(segments, blocks);
}
