/* SPDX-License-Identifier: Apache-2.0 */
/* Live memory that is written again is analyzed as it was: the past may be dropped. */
#include "analyzer/findings/analysis.h"
#include "preload/live-memory/live.h"
#include "scenarios.h"
#include "tests/support/run-tests.h"
#include "trace-format/cuda-apis.h"
#include "trace-format/reader.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct mt_builder *rebuilt;
static size_t n_recorded;
static uint64_t last_time;

static int rebuild(const struct mt_event *event)
{
    if (event->kind != MT_RANGE_PUSH) { /* ranges come at the end */
        ck_assert_uint_ge(event->time_ns, last_time);
        last_time = event->time_ns;
    }
    mt_build_raw(rebuilt, event);
    n_recorded++;
    return 0;
}

static int count(const struct mt_event *event)
{
    (void)event;
    n_recorded++;
    return 0;
}

/* The training scenario, of which everything before an event is replaced by what was live then; and
 * by what was live at the peak, the event of that number (from 1), if it is forgotten too. */
static struct mt_analysis analyze(const char *whole, size_t forgotten, size_t peak)
{
    struct mt_reader *reader;
    struct mt_batch batch;
    struct mt_trace_error error;
    struct mt_analysis analysis;
    char path[] = "/tmp/memtap-live-XXXXXX";
    struct mt_live *live = mt_live_create();
    size_t n = 0;
    rebuilt = mt_builder_create();
    last_time = 0;
    ck_assert_int_eq(mt_reader_open(&reader, whole, &error), 0);
    while (mt_reader_next(reader, &batch, &error) > 0) {
        for (size_t i = 0; i < batch.n_definitions; i++)
            mt_build_definition(rebuilt, &batch.definitions[i]);
        for (size_t i = 0; i < batch.n_events; i++, n++) {
            if (n == forgotten)
                ck_assert_int_eq(mt_live_each(live, rebuild), 0);
            if (n >= forgotten)
                mt_build_raw(rebuilt, &batch.events[i]);
            else
                ck_assert_int_eq(mt_live_event(live, &batch.events[i]), 0);
            if (n + 1 == peak && n < forgotten)
                mt_live_keep_peak(live, &batch.events[i]);
        }
    }
    if (forgotten >= n)
        ck_assert_int_eq(mt_live_each(live, rebuild), 0);
    mt_reader_close(reader);
    mt_live_destroy(live);
    mt_build_end(rebuilt);
    close(mkstemp(path));
    mt_builder_write(rebuilt, path);
    mt_builder_destroy(rebuilt);
    ck_assert_int_eq(mt_analysis_create(&analysis, path, &(struct mt_question){0}), 0);
    unlink(path);
    return analysis;
}

/* Wherever the past is cut off before the peak; or behind it, where the peak is kept. */
static void check_categories(bool is_peak_kept)
{
    char path[] = "/tmp/memtap-live-XXXXXX";
    struct mt_builder *builder = mt_builder_create();
    mt_scenario_training(builder, 3);
    close(mkstemp(path));
    mt_builder_write(builder, path);
    mt_builder_destroy(builder);
    struct mt_analysis whole = analyze(path, 0, 0);
    size_t peak = whole.devices[0].peak.event, events = whole.replay.events;
    for (size_t forgotten = is_peak_kept ? peak : 1; forgotten < (is_peak_kept ? events : peak);
         forgotten++) {
        struct mt_analysis part = analyze(path, forgotten, is_peak_kept ? peak : 0);
        const struct mt_device *a = &whole.devices[0], *b = &part.devices[0];
        ck_assert_uint_eq(part.replay.oddities.drift, 0);
        ck_assert_uint_eq(part.replay.oddities.unknown, 0);
        ck_assert_uint_eq(b->peak.allocated, a->peak.allocated);
        ck_assert_uint_eq(b->peak.reserved, a->peak.reserved);
        for (unsigned i = 0; i < mt_n_categories; i++)
            ck_assert_msg(b->category[i].bytes == a->category[i].bytes,
                          "without the first %zu: category %u has %llu bytes, not %llu", forgotten,
                          i, (unsigned long long)b->category[i].bytes,
                          (unsigned long long)a->category[i].bytes);
        mt_analysis_destroy(&part);
    }
    mt_analysis_destroy(&whole);
    unlink(path);
}

START_TEST(categories_survive)
{
    check_categories(false);
}
END_TEST

START_TEST(peaks_survive)
{
    check_categories(true);
}
END_TEST

static void happen(struct mt_live *live, uint16_t kind, uint64_t a, uint64_t b)
{
    static uint64_t time;
    struct mt_event event = {.time_ns = ++time, .thread = 1, .kind = kind, .arg = {a, b}};
    ck_assert_int_eq(mt_live_event(live, &event), 0);
}

static size_t count_live(struct mt_live *live)
{
    n_recorded = 0;
    ck_assert_int_eq(mt_live_each(live, count), 0);
    return n_recorded;
}

/* The peak is within three ranges, of which one has a domain. */
START_TEST(open_ranges_survive)
{
    char path[] = "/tmp/memtap-live-XXXXXX", text[128];
    struct mt_builder *builder = mt_builder_create();
    mt_scenario_phases(builder);
    close(mkstemp(path));
    mt_builder_write(builder, path);
    mt_builder_destroy(builder);
    struct mt_analysis whole = analyze(path, 0, 0);
    for (size_t forgotten = 1; forgotten < whole.devices[0].peak.event; forgotten++) {
        struct mt_analysis part = analyze(path, forgotten, 0);
        mt_range_text(text, sizeof text, part.replay.definitions, &part.replay.tracker.ranges,
                      part.devices[0].at.range);
        ck_assert_msg(!strcmp(text, "simulate > solve > fft: plan"), "without the first %zu: %s",
                      forgotten, text);
        mt_analysis_destroy(&part);
    }
    mt_analysis_destroy(&whole);
    unlink(path);
}
END_TEST

/* What a storage was stays known, also where that was said before the cut. */
START_TEST(storages_survive)
{
    enum { FIRST = 0x7f0000000000, NEXT = 0x7f0000400000, STORAGE = 0x5550, SIZE = 4096 };
    char path[] = "/tmp/memtap-live-XXXXXX";
    struct mt_builder *builder = mt_builder_create();
    mt_build_alloc(builder, FIRST, SIZE);
    mt_build_event(builder, MT_MEMBER, FIRST, 1, 0);
    mt_build_event(builder, MT_RESIZE, FIRST, STORAGE, 0);
    mt_build_free(builder, FIRST);
    mt_build_alloc(builder, NEXT, SIZE);
    mt_build_event(builder, MT_RESIZE, NEXT, STORAGE, SIZE);
    mt_build_alloc(builder, FIRST, SIZE);
    mt_build_alloc(builder, FIRST + SIZE, SIZE);
    close(mkstemp(path));
    mt_builder_write(builder, path);
    mt_builder_destroy(builder);
    static const size_t forgotten[] = {0, 1, 2, 6, 7};
    for (size_t i = 0; i < sizeof forgotten / sizeof *forgotten; i++) {
        struct mt_analysis analysis = analyze(path, forgotten[i], 0);
        ck_assert_uint_eq(analysis.devices[0].category[MT_CATEGORY_PARAMETERS].bytes, SIZE);
        mt_analysis_destroy(&analysis);
    }
    unlink(path);
}
END_TEST

/* What was not computed is counted as often, at the same place, also where it happened before the
 * cut. */
START_TEST(unknown_values_survive)
{
    enum { SIZES = 5, REALS = 3 };
    char path[] = "/tmp/memtap-live-XXXXXX";
    struct mt_builder *builder = mt_builder_create();
    for (unsigned i = 0; i < SIZES + REALS; i++)
        mt_build_event(builder, MT_UNKNOWN_VALUE, i < SIZES ? 1 : 4, 0, 0);
    close(mkstemp(path));
    mt_builder_write(builder, path);
    mt_builder_destroy(builder);
    for (size_t forgotten = 0; forgotten < SIZES + REALS; forgotten++) {
        struct mt_analysis analysis = analyze(path, forgotten, 0);
        ck_assert_uint_eq(analysis.replay.unsimulated.sizes, SIZES);
        ck_assert_uint_eq(analysis.replay.unsimulated.reals, REALS);
        ck_assert_uint_eq(analysis.replay.unsimulated.numbers, 0);
        mt_analysis_destroy(&analysis);
    }
    unlink(path);
}
END_TEST

START_TEST(labels_find_their_blocks)
{
    const uint64_t big = (uint64_t)9 << 40, far = (uint64_t)40 << 30;
    struct mt_live *live = mt_live_create();
    happen(live, MT_ALLOC, big, (uint64_t)60 << 30);
    happen(live, MT_ALLOC, big - 512, 512);
    happen(live, MT_CUDA_MALLOC, big, (uint64_t)60 << 30);
    ck_assert_uint_eq(count_live(live), 3);
    happen(live, MT_SAVED, big + far, 0); /* a view far inside */
    happen(live, MT_SAVED, big + far + 1, 0);
    ck_assert_uint_eq(count_live(live), 4);
    happen(live, MT_SAVED, big - 1, 0); /* of the small one */
    happen(live, MT_SAVED, big - 513, 0);
    happen(live, MT_SAVED, big + ((uint64_t)60 << 30), 0); /* of none */
    ck_assert_uint_eq(count_live(live), 5);
    for (int i = 0; i < 5; i++)
        happen(live, MT_LEAF, big, 0);
    ck_assert_uint_eq(count_live(live), 7);
    happen(live, MT_FREE, big, (uint64_t)60 << 30);
    ck_assert_uint_eq(count_live(live), 3);
    happen(live, MT_CUDA_FREE, big, 0);
    ck_assert_uint_eq(count_live(live), 2);
    happen(live, MT_CUDA_FREE_FAILED, big, 1);
    ck_assert_uint_eq(count_live(live), 3);
    mt_live_destroy(live);
}
END_TEST

START_TEST(many_blocks_come_and_go)
{
    struct mt_live *live = mt_live_create();
    for (uint64_t i = 1; i <= 20000; i++)
        happen(live, MT_ALLOC, i * 512, 512);
    ck_assert_uint_eq(count_live(live), 20000);
    for (uint64_t i = 1; i <= 20000; i++)
        if (i % 3)
            happen(live, MT_FREE, i * 512, 512);
    ck_assert_uint_eq(count_live(live), 6666);
    mt_live_destroy(live);
}
END_TEST

/* It has one before any block is in it. Page-locked memory keeps its request. */
START_TEST(segments_keep_their_names)
{
    enum { SEGMENT = 0x7f00, SIZE = 2 << 20, NAME = 1, PINNED = 0x6f000000 };
    char path[] = "/tmp/memtap-live-XXXXXX";
    struct mt_builder *builder = mt_builder_create();
    mt_build_event4(builder, MT_CUDA_MALLOC, SEGMENT, SIZE, 0, MT_API_CUDA_MALLOC);
    mt_build_event4(builder, MT_NAMED, SEGMENT, NAME, 0, 0);
    mt_build_event4(builder, MT_ALLOC, SEGMENT, 512, 512, SIZE);
    mt_build_event4(builder, MT_CUDA_MALLOC, PINNED, 64, 0, MT_API_CUDA_HOST_ALLOC);
    mt_build_event4(builder, MT_HOST_REQUEST, PINNED, 33, 0, 0);
    close(mkstemp(path));
    mt_builder_write(builder, path);
    mt_builder_destroy(builder);
    for (size_t forgotten = 0; forgotten < 6; forgotten++) {
        struct mt_analysis analysis = analyze(path, forgotten, 0);
        const struct mt_replay *replay = &analysis.replay;
        ck_assert_uint_eq(mt_heap_at(&replay->cuda.heap, SEGMENT)->name, NAME);
        ck_assert_uint_eq(mt_heap_at(&replay->blocks, SEGMENT)->name, 0);
        ck_assert_uint_eq(mt_host_rounding_find(&replay->host).requested, 33);
        mt_analysis_destroy(&analysis);
    }
    unlink(path);
}
END_TEST

/* Physical memory whose handle is released while it is mapped, is given again, or is released in
 * vain: wherever the past is cut off, and wherever the trace ends. */
START_TEST(physical_memory_survives)
{
    enum { A = 0x1000, B = 0x2000, X = 0x7f0000000000, Y = 0x7f0000200000, SIZE = 2 << 20 };
    const uint64_t PLACE = 1ull << 63 | 0x3000;
    const struct {
        enum mt_kind kind;
        uint64_t arg[4];
    } happens[] = {
        {MT_CUDA_MALLOC, {A, SIZE, 0, MT_API_CU_MEM_CREATE}},
        {MT_CUDA_MAP, {X, SIZE, A, MT_API_CU_MEM_MAP}},
        {MT_CUDA_FREE, {A, MT_API_CU_MEM_RELEASE}},
        {MT_CUDA_MALLOC, {A, 0, 0, MT_API_CU_MEM_RETAIN}},
        {MT_CUDA_MAP, {Y, SIZE, A, MT_API_CU_MEM_MAP}},
        {MT_CUDA_FREE, {A, MT_API_CU_MEM_RELEASE}},
        {MT_CUDA_UNMAP, {X, SIZE, MT_API_CU_MEM_UNMAP}},
        {MT_CUDA_MALLOC, {B, 2 * SIZE, 0, MT_API_CU_MEM_CREATE}},
        {MT_CUDA_MALLOC, {B, 0, 0, MT_API_CU_MEM_IMPORT}},
        {MT_CUDA_UNMAP, {Y, SIZE, MT_API_CU_MEM_UNMAP}},
        {MT_CUDA_FREE, {B, MT_API_CU_MEM_RELEASE}},
        {MT_CUDA_FREE, {B, MT_API_CU_MEM_RELEASE}},
        {MT_CUDA_FREE_FAILED, {B, 1, MT_API_CU_MEM_RELEASE}},
        {MT_CUDA_MAP, {X, SIZE, B, MT_API_CU_MEM_MAP}},
        {MT_CUDA_FREE, {B, MT_API_CU_MEM_RELEASE}},
        {MT_CUDA_UNMAP, {X, SIZE, MT_API_CU_MEM_UNMAP}},
        {MT_CUDA_MALLOC, {A, SIZE, 0, MT_API_CU_MEM_CREATE}},
        {MT_CUDA_MAP, {X, SIZE, A, MT_API_CU_MEM_MAP}},
        {MT_CUDA_MAP, {PLACE, SIZE, X, MT_API_CU_MULTICAST_BIND_ADDRESS}},
        {MT_CUDA_UNMAP, {X, SIZE, MT_API_CU_MEM_UNMAP}},
        {MT_CUDA_FREE, {A, MT_API_CU_MEM_RELEASE}},
        {MT_CUDA_UNMAP, {PLACE, SIZE, MT_API_CU_MULTICAST_UNBIND}},
    };
    const size_t n = sizeof happens / sizeof *happens;
    for (size_t end = 1; end <= n; end++) {
        char path[] = "/tmp/memtap-live-XXXXXX";
        struct mt_builder *builder = mt_builder_create();
        for (size_t i = 0; i < end; i++)
            mt_build_event4(builder, happens[i].kind, happens[i].arg[0], happens[i].arg[1],
                            happens[i].arg[2], happens[i].arg[3]);
        close(mkstemp(path));
        mt_builder_write(builder, path);
        mt_builder_destroy(builder);
        struct mt_analysis whole = analyze(path, 0, 0);
        const struct mt_cuda_level *a = &whole.replay.cuda;
        for (size_t forgotten = 1; forgotten < end; forgotten++) {
            if (happens[forgotten].kind == MT_CUDA_FREE_FAILED)
                continue; /* a free is recorded before it is known to have failed */
            struct mt_analysis part = analyze(path, forgotten, 0);
            const struct mt_cuda_level *b = &part.replay.cuda;
            ck_assert_msg(b->heap.total[1].bytes == a->heap.total[1].bytes &&
                              b->mapped.total[1].bytes == a->mapped.total[1].bytes && !b->unknown,
                          "the first %zu of %zu: %llu bytes, not %llu", forgotten, end,
                          (unsigned long long)b->heap.total[1].bytes,
                          (unsigned long long)a->heap.total[1].bytes);
            mt_analysis_destroy(&part);
        }
        mt_analysis_destroy(&whole);
        unlink(path);
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("live");
    tcase_add_test(tests, categories_survive);
    tcase_add_test(tests, peaks_survive);
    tcase_add_test(tests, open_ranges_survive);
    tcase_add_test(tests, storages_survive);
    tcase_add_test(tests, unknown_values_survive);
    tcase_add_test(tests, labels_find_their_blocks);
    tcase_add_test(tests, many_blocks_come_and_go);
    tcase_add_test(tests, physical_memory_survives);
    tcase_add_test(tests, segments_keep_their_names);
    return RUN_TESTS(tests);
}
