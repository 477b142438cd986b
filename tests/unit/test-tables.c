/* SPDX-License-Identifier: Apache-2.0 */
/* The analyzer's tables: address map, ordered addresses, heap; against plain models. */
#include "analyzer/model/heap.h"
#include "analyzer/support/address-map.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <malloc.h>
#include <stdio.h>
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

/* Addresses are key * 10, so that most searches fall between two of them. A number says its key,
 * and when it was put there. */
static uint64_t address_of(const void *owner, uint32_t number)
{
    return owner ? 0 : number % KEYS * 10;
}

static const struct mt_ordered_keys keys = {address_of, NULL};

static void check_below(const struct mt_ordered *ordered, const uint32_t *model, uint64_t address)
{
    uint32_t value = 0, expected = 0;
    for (uint64_t key = 0; key < KEYS && key * 10 <= address; key++)
        if (model[key])
            expected = model[key];
    ck_assert_int_eq(mt_ordered_below(ordered, keys, address, &value), expected != 0);
    ck_assert_uint_eq(value, expected);
}

START_TEST(ordered_finds_what_is_below)
{
    struct mt_ordered ordered = {0};
    uint32_t model[KEYS] = {0};
    for (unsigned i = 1; i < 20000; i++) {
        uint32_t key = any(KEYS);
        mt_ordered_remove(&ordered, keys, key * 10);
        model[key] = 0;
        if (any(i % 4000 < 2000 ? 4 : 2)) {
            model[key] = i * KEYS + key;
            ck_assert_int_eq(mt_ordered_put(&ordered, keys, model[key]), 0);
        }
        check_below(&ordered, model, any(KEYS * 11));
        ck_assert_uint_le(ordered.n_pieces, 3 * KEYS / MT_ORDERED_PIECE);
    }
    for (uint32_t key = 0; key < KEYS; key++)
        mt_ordered_remove(&ordered, keys, key * 10);
    ck_assert_uint_eq(ordered.n_pieces, 0);
    mt_ordered_clear(&ordered);
}
END_TEST

START_TEST(ordered_is_full_of_what_comes_in_order)
{
    for (int is_down = 0; is_down < 2; is_down++) {
        struct mt_ordered ordered = {0};
        uint32_t model[KEYS] = {0};
        for (uint32_t i = 0; i < KEYS; i++) {
            uint32_t key = is_down ? KEYS - 1 - i : i;
            model[key] = KEYS + key;
            ck_assert_int_eq(mt_ordered_put(&ordered, keys, model[key]), 0);
            check_below(&ordered, model, any(KEYS * 11));
        }
        ck_assert_uint_eq(ordered.n_pieces, (KEYS + MT_ORDERED_PIECE - 1) / MT_ORDERED_PIECE);
        mt_ordered_clear(&ordered);
    }
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
    mt_heap_clear(&heap);
}
END_TEST

static size_t in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

enum order { UP, DOWN, MIXED };

/* Bytes a live block, with tables, order and all, of so many that are remembered. */
static double cost(uint32_t live, enum order order)
{
    struct mt_heap heap = {0};
    size_t before = in_use();
    for (uint32_t i = 0; i < live; i++) {
        uint32_t place = order == UP     ? i
                         : order == DOWN ? live - 1 - i
                                         : (uint32_t)(i * UINT64_C(7919) % live);
        uint64_t address = (UINT64_C(1) << 40) + place * UINT64_C(512);
        add(&heap, address, 512);
        if (i % 1000 == 999)
            ck_assert_ptr_nonnull(mt_heap_around(&heap, address + 1));
    }
    mt_heap_remember(&heap, mt_device_slot(1));
    double each = (double)(in_use() - before) / live;
    printf("%u live blocks, order %d: %.1f bytes each\n", live, order, each);
    mt_heap_clear(&heap);
    return each;
}

START_TEST(a_live_block_costs_96_bytes)
{
    ck_assert_double_le(cost(1000000, UP), 96);
    ck_assert_double_le(cost(100000, DOWN), 96);
    ck_assert_double_le(cost(100000, MIXED), 96);
    ck_assert_double_le(cost((1u << 17) / 5 * 4 + 100, MIXED), 97); /* the table has just grown */
}
END_TEST

/* What is found by address while records come and go, compared with a plain model. */
START_TEST(heap_finds_each_block)
{
    struct mt_heap heap = {0};
    static struct mt_block *live[20000];
    for (unsigned i = 0; i < 400000; i++) {
        unsigned k = any(i < 200000 ? 20000 : 300);
        uint64_t address = (uint64_t)k * (k % 3 ? 512 : UINT64_C(1) << 33);
        ck_assert_ptr_eq(mt_heap_at(&heap, address), live[k]);
        if (live[k])
            mt_heap_end(&heap, live[k]);
        live[k] = any(2) ? add(&heap, address, 512) : NULL;
        ck_assert_ptr_eq(mt_heap_at(&heap, address), live[k]);
        if (live[k])
            ck_assert_ptr_eq(mt_heap_record(&heap, mt_heap_index(&heap, live[k])), live[k]);
        if (any(1000) == 0)
            mt_heap_remember(&heap, mt_device_slot(1));
    }
    mt_heap_clear(&heap);
}
END_TEST

/* After more moments than a record can count. */
START_TEST(moments_begin_anew)
{
    struct mt_heap heap = {0};
    unsigned slot = mt_device_slot(1);
    heap.memory[slot].moments = UINT32_MAX - 1;
    struct mt_block *a = add(&heap, 1000, 100);
    mt_heap_remember(&heap, slot);
    struct mt_block *b = add(&heap, 2000, 100);
    ck_assert_int_eq(mt_heap_is_remembered(&heap, a), 1);
    ck_assert_int_eq(mt_heap_is_remembered(&heap, b), 0);
    mt_heap_remember(&heap, slot);
    struct mt_block *c = add(&heap, 3000, 100);
    ck_assert_int_eq(mt_heap_is_remembered(&heap, a), 1);
    ck_assert_int_eq(mt_heap_is_remembered(&heap, b), 1);
    ck_assert_int_eq(mt_heap_is_remembered(&heap, c), 0);
    mt_heap_clear(&heap);
}
END_TEST

/* Times and numbers further apart than a distance can say; deaths are shared, and given back. */
START_TEST(births_and_deaths_are_shared)
{
    struct mt_heap heap = {0};
    struct mt_event event = {.kind = MT_ALLOC, .arg = {1000, 1}, .time_ns = 7, .thread = 3};
    struct mt_block *a = mt_heap_add(&heap, &event);
    event.address = 2000;
    event.time_ns += UINT32_MAX;
    struct mt_block *b = mt_heap_add(&heap, &event);
    event.address = 3000;
    event.time_ns++;
    struct mt_block *c = mt_heap_add(&heap, &event);
    ck_assert_ptr_eq(a->birth, b->birth);
    ck_assert_ptr_ne(b->birth, c->birth);
    ck_assert_uint_eq(mt_block_time(b), 7ull + UINT32_MAX);
    ck_assert_uint_eq(mt_block_time(c), 8ull + UINT32_MAX);
    ck_assert_int_eq(mt_block_set_event(b, 1ull << 40), 0);
    ck_assert_uint_eq(mt_block_event(b), 1ull << 40);
    ck_assert_uint_eq(mt_block_time(b), 7ull + UINT32_MAX);
    ck_assert_uint_eq(mt_block_event(a), 0);
    ck_assert_uint_eq(mt_block_ended(a)->epoch, 0);
    for (uint32_t epoch = 1; epoch < 1000; epoch++) {
        struct mt_when when = {.epoch = epoch};
        ck_assert_int_eq(mt_block_end(a, &when), 0);
        ck_assert_int_eq(mt_block_end(c, &when), 0);
        ck_assert_uint_eq(mt_block_ended(a)->epoch, epoch);
        ck_assert_uint_eq(a->ended, c->ended);
    }
    struct mt_block_copy copy;
    mt_block_copy(&copy, a);
    mt_heap_end(&heap, a);
    mt_heap_end(&heap, c);
    ck_assert_uint_eq(mt_block_ended(&copy.block)->epoch, 999);
    ck_assert_uint_eq(mt_block_time(&copy.block), 7);
    ck_assert_uint_le(heap.deaths.n, 4);
    mt_heap_clear(&heap);
}
END_TEST

int main(void)
{
    TCase *test = tcase_create("tables");
    tcase_add_test(test, address_map_is_a_map);
    tcase_add_test(test, address_map_takes_the_extremes);
    tcase_add_test(test, ordered_finds_what_is_below);
    tcase_add_test(test, ordered_is_full_of_what_comes_in_order);
    tcase_add_test(test, heap_finds_each_block);
    tcase_add_test(test, moments_begin_anew);
    tcase_add_test(test, births_and_deaths_are_shared);
    tcase_add_test(test, a_live_block_costs_96_bytes);
    tcase_add_test(test, heap_finds_a_block_from_inside);
    tcase_add_test(test, heap_counts_by_device);
    tcase_add_test(test, heap_remembers_the_latest_moment);
    tcase_add_test(test, heap_does_not_grow_with_events);
    return RUN_TESTS(test);
}
