/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that come and go in a window of a light recording, which the live memory does not know. */
#include "preload/selection/selection.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <errno.h>
#include <string.h>

enum { BLOCK = 0x10000, SIZE = 4096, STORAGE = 0x777000, RECORDED_IN_FULL = 1000000 };

static struct mt_selection *selection;
static struct mt_live *live;
static unsigned n_recorded[MT_KIND_LIMIT];
static uint64_t now_ns;

static int count(const struct mt_event *event)
{
    n_recorded[event->kind]++;
    return 0;
}

static void end_window(void)
{
    ck_assert_int_eq(mt_selection_end(selection, live, false, count), 0);
}

static void add(unsigned kind, uint64_t a, uint64_t b, uint64_t c)
{
    struct mt_event event = {
        .time_ns = now_ns += 64, .kind = (uint16_t)kind, .thread = 1, .arg = {a, b, c}};
    int rc = mt_selection_add(selection, &event);
    if (rc == -EAGAIN) {
        end_window();
        rc = mt_selection_add(selection, &event);
    }
    ck_assert_int_eq(rc, 0);
}

/* Begin, once for all tests, after the events that are recorded in full, with a peak that is not
 * reached again. */
static void begin(void)
{
    now_ns = 0;
    selection = mt_selection_create();
    live = mt_live_create();
    add(MT_ALLOC, 1 << 30, SIZE, UINT32_MAX);
    add(MT_FREE, 1 << 30, SIZE, 0);
    for (unsigned i = 0; i < RECORDED_IN_FULL; i++)
        add(MT_NODE_NEW, 1, 0, 0);
    end_window();
    memset(n_recorded, 0, sizeof n_recorded);
}

static void end(void)
{
    mt_selection_destroy(selection);
    mt_live_destroy(live);
}

START_TEST(labels_of_passing_blocks_are_left_out)
{
    for (unsigned i = 0; i < 3; i++) {
        add(MT_ALLOC, BLOCK, SIZE, SIZE);
        add(MT_SAVED, BLOCK, 0, 0);
        add(MT_FREE, BLOCK, SIZE, 0);
    }
    end_window();
    ck_assert_uint_eq(n_recorded[MT_SAVED], 0);
    memset(n_recorded, 0, sizeof n_recorded);
    ck_assert_int_eq(mt_live_each(live, count), 0);
    ck_assert_uint_eq(n_recorded[MT_SAVED], 0);
}
END_TEST

/* Such a label is recorded once for each place, since the window does not find its block. */
START_TEST(labels_within_passing_blocks_are_recorded_once)
{
    add(MT_ALLOC, BLOCK, SIZE, SIZE);
    add(MT_SAVED, BLOCK, 0, 0);
    add(MT_SAVED, BLOCK + 512, 0, 0);
    add(MT_LEAF, BLOCK + 512, 0, 0);
    add(MT_LEAF, BLOCK + 512, 0, 0);
    add(MT_LEAF, BLOCK + 512, 0, 0);
    add(MT_FREE, BLOCK, SIZE, 0);
    end_window();
    ck_assert_uint_eq(n_recorded[MT_SAVED], 0); /* the block has one from this place */
    ck_assert_uint_eq(n_recorded[MT_LEAF], 2);
}
END_TEST

START_TEST(storages_keep_labels_of_passing_blocks)
{
    add(MT_ALLOC, BLOCK, SIZE, SIZE);
    add(MT_LEAF, BLOCK, 0, 0);
    add(MT_RESIZE, BLOCK, STORAGE, 0);
    add(MT_FREE, BLOCK, SIZE, 0);
    end_window();
    add(MT_ALLOC, BLOCK + SIZE, SIZE, SIZE);
    add(MT_RESIZE, BLOCK + SIZE, STORAGE, SIZE);
    end_window();
    memset(n_recorded, 0, sizeof n_recorded);
    ck_assert_int_eq(mt_live_each(live, count), 0);
    ck_assert_uint_eq(n_recorded[MT_LEAF], 1);
}
END_TEST

static uint64_t allocated, at_leaf;

static int note_total(const struct mt_event *event)
{
    if (event->kind == MT_ALLOC || event->kind == MT_FREE)
        allocated = event->ALLOC.allocated;
    return 0;
}

/* As a new segment does, which may begin at any event. */
static int list_at_leaf(const struct mt_event *event)
{
    if (event->kind != MT_LEAF)
        return 0;
    int rc = mt_live_each(live, note_total);
    at_leaf = allocated;
    return rc;
}

START_TEST(recalled_blocks_leave_the_totals)
{
    add(MT_ALLOC, BLOCK, SIZE, SIZE);
    add(MT_ALLOC, 2 * BLOCK, SIZE, 2 * SIZE); /* stays */
    add(MT_LEAF, BLOCK + 512, 0, 0);
    add(MT_FREE, BLOCK, SIZE, SIZE);
    ck_assert_int_eq(mt_selection_end(selection, live, false, list_at_leaf), 0);
    ck_assert_uint_eq(at_leaf, 2 * SIZE);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("selection");
    tcase_add_unchecked_fixture(tests, begin, end);
    tcase_add_test(tests, labels_of_passing_blocks_are_left_out);
    tcase_add_test(tests, labels_within_passing_blocks_are_recorded_once);
    tcase_add_test(tests, recalled_blocks_leave_the_totals);
    tcase_add_test(tests, storages_keep_labels_of_passing_blocks);
    return RUN_TESTS(tests);
}
