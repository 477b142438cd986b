/* SPDX-License-Identifier: Apache-2.0 */
/* The analyzer's tables: address map, ordered addresses, heap; against plain models. */
#include "analyzer/model/heap.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <stdlib.h>

#define KEYS 600u

static uint32_t seed = 1;

static uint32_t any(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

START_TEST(address_map_is_a_map)
{
    struct mt_address_map map = {0};
    uint32_t model[KEYS] = {0};
    ck_assert_uint_eq(mt_address_map_get(&map, 5), 0);
    ck_assert_uint_eq(mt_address_map_take(&map, 5), 0);
    for (unsigned i = 0; i < 50000; i++) {
        uint32_t key = any(KEYS);
        uint64_t address = (uint64_t)key << (key % 40);
        if (any(3)) {
            model[key] = i + 1;
            ck_assert_int_eq(mt_address_map_put(&map, address + key, i + 1), 0);
        } else {
            ck_assert_uint_eq(mt_address_map_take(&map, address + key), model[key]);
            model[key] = 0;
        }
        key = any(KEYS);
        address = (uint64_t)key << (key % 40);
        ck_assert_uint_eq(mt_address_map_get(&map, address + key), model[key]);
    }
    mt_address_map_clear(&map);
}
END_TEST

START_TEST(address_map_takes_the_extremes)
{
    struct mt_address_map map = {0};
    ck_assert_int_eq(mt_address_map_put(&map, 0, 1), 0);
    ck_assert_int_eq(mt_address_map_put(&map, UINT64_MAX, UINT32_MAX), 0);
    ck_assert_uint_eq(mt_address_map_get(&map, 0), 1);
    ck_assert_uint_eq(mt_address_map_get(&map, UINT64_MAX), UINT32_MAX);
    ck_assert_uint_eq(map.used, 2);
    mt_address_map_clear(&map);
}
END_TEST

/* Addresses are key * 10, so that most searches fall between two of them. */
static void check_below(const struct mt_ordered *ordered, const uint32_t *model, uint64_t address)
{
    uint32_t value = 0, expected = 0;
    for (uint64_t key = 0; key < KEYS && key * 10 <= address; key++)
        if (model[key])
            expected = model[key];
    ck_assert_int_eq(mt_ordered_below(ordered, address, &value), expected != 0);
    ck_assert_uint_eq(value, expected);
}

START_TEST(ordered_finds_what_is_below)
{
    struct mt_ordered ordered = {0};
    uint32_t model[KEYS] = {0};
    for (unsigned i = 0; i < 20000; i++) {
        uint32_t key = any(KEYS);
        if (any(i % 4000 < 2000 ? 4 : 2)) {
            model[key] = i + 1;
            ck_assert_int_eq(mt_ordered_put(&ordered, key * 10, i + 1), 0);
        } else {
            model[key] = 0;
            mt_ordered_remove(&ordered, key * 10);
        }
        check_below(&ordered, model, any(KEYS * 11));
    }
    for (uint32_t key = 0; key < KEYS; key++)
        mt_ordered_remove(&ordered, key * 10);
    ck_assert_uint_eq(ordered.n_pieces, 0);
    mt_ordered_clear(&ordered);
}
END_TEST

static struct mt_block *add(struct mt_heap *heap, uint64_t address, uint64_t size)
{
    struct mt_event event = {.kind = MT_ALLOC, .arg = {address, size}, .device = 1};
    struct mt_block *block = mt_heap_add(heap, &event);
    ck_assert_ptr_nonnull(block);
    return block;
}

START_TEST(heap_finds_a_block_from_inside)
{
    struct mt_heap heap = {0};
    struct mt_block *a = add(&heap, 1000, 100), *b = add(&heap, 1100, 50);
    ck_assert_ptr_eq(mt_heap_around(&heap, 1000), a);
    ck_assert_ptr_eq(mt_heap_around(&heap, 1099), a);
    ck_assert_ptr_eq(mt_heap_around(&heap, 1149), b);
    ck_assert_ptr_null(mt_heap_around(&heap, 1150));
    ck_assert_ptr_null(mt_heap_around(&heap, 999));
    ck_assert_ptr_null(mt_heap_at(&heap, 1001));
    mt_heap_end(&heap, a);
    ck_assert_ptr_null(mt_heap_around(&heap, 1050));
    struct mt_block *c = add(&heap, 1040, 20); /* in the freed place */
    ck_assert_ptr_eq(mt_heap_around(&heap, 1059), c);
    ck_assert_ptr_null(mt_heap_around(&heap, 1060));
    mt_heap_clear(&heap);
}
END_TEST

START_TEST(heap_counts_by_device)
{
    struct mt_heap heap = {0};
    struct mt_block *a = add(&heap, 1000, 100);
    add(&heap, 2000, 10);
    ck_assert_uint_eq(heap.total[mt_device_slot(1)].bytes, 110);
    ck_assert_uint_eq(heap.total[mt_device_slot(1)].blocks, 2);
    ck_assert_uint_eq(heap.total[mt_device_slot(0)].blocks, 0);
    mt_heap_end(&heap, a);
    ck_assert_uint_eq(heap.total[mt_device_slot(1)].bytes, 10);
    ck_assert_uint_eq(mt_device_slot(MT_NO_DEVICE), 0);
    ck_assert_uint_eq(mt_device_slot(63), 64);
    ck_assert_uint_eq(mt_device_slot(64), 0);
    mt_heap_clear(&heap);
}
END_TEST

START_TEST(heap_remembers_the_latest_moment)
{
    struct mt_heap heap = {0};
    unsigned slot = mt_device_slot(1);
    struct mt_block *a = add(&heap, 1000, 100), *b = add(&heap, 2000, 10);
    ck_assert_int_eq(mt_heap_is_remembered(&heap, a), 0);
    mt_heap_remember(&heap, slot);
    mt_heap_end(&heap, a);
    struct mt_block *c = add(&heap, 1000, 200);
    ck_assert_ptr_ne(a, c);
    ck_assert_uint_eq(a->size, 100);
    ck_assert_int_eq(a->state, MT_BLOCK_KEPT);
    ck_assert_int_eq(mt_heap_is_remembered(&heap, a), 1);
    ck_assert_int_eq(mt_heap_is_remembered(&heap, b), 1);
    ck_assert_int_eq(mt_heap_is_remembered(&heap, c), 0);
    mt_heap_remember(&heap, slot); /* now: b and c */
    ck_assert_int_eq(mt_heap_is_remembered(&heap, a), 0);
    ck_assert_int_eq(mt_heap_is_remembered(&heap, b), 1);
    ck_assert_int_eq(mt_heap_is_remembered(&heap, c), 1);
    ck_assert_ptr_eq(add(&heap, 3000, 1), a); /* its record is used again */
    ck_assert_int_eq(mt_heap_is_remembered(&heap, a), 0);
    mt_heap_clear(&heap);
}
END_TEST

START_TEST(heap_does_not_grow_with_events)
{
    struct mt_heap heap = {0};
    struct mt_block *live[64] = {NULL};
    for (unsigned i = 0; i < 100000; i++) {
        unsigned k = any(64);
        if (live[k])
            mt_heap_end(&heap, live[k]);
        live[k] = add(&heap, k * 1000, 1 + any(1000));
        if (any(10) == 0)
            mt_heap_remember(&heap, mt_device_slot(1));
        uint64_t inside = live[k]->address + live[k]->size - 1;
        if (any(4) == 0)
            ck_assert_ptr_eq(mt_heap_around(&heap, inside), live[k]);
    }
    ck_assert_uint_le(heap.n_records, 2 * 64 + 2);
    ck_assert_uint_le(heap.n_pending, 64);
    mt_heap_clear(&heap);
}
END_TEST

int main(void)
{
    TCase *test = tcase_create("tables");
    tcase_add_test(test, address_map_is_a_map);
    tcase_add_test(test, address_map_takes_the_extremes);
    tcase_add_test(test, ordered_finds_what_is_below);
    tcase_add_test(test, heap_finds_a_block_from_inside);
    tcase_add_test(test, heap_counts_by_device);
    tcase_add_test(test, heap_remembers_the_latest_moment);
    tcase_add_test(test, heap_does_not_grow_with_events);
    return RUN_TESTS(test);
}
