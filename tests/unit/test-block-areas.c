/* SPDX-License-Identifier: Apache-2.0 */
/* Two areas with one place cost a system call each time that the allocator goes from one's records
 * to the other's. */
#include "preload/torch/blocks.h"
#include "tests/support/run-tests.h"

#include <string.h>

#define HEAP_BYTES (UINT64_C(512) << 20)

static void assert_own_places(uint64_t heap)
{
    static bool is_taken[MT_BLOCK_AREAS];
    memset(is_taken, 0, sizeof is_taken);
    for (uint64_t at = heap; at < heap + HEAP_BYTES; at += MT_BLOCK_AREA) {
        ptrdiff_t place = mt_block_area_place(at / MT_BLOCK_AREA) - mt_block_areas;
        ck_assert_int_ge(place, 0);
        ck_assert_int_lt(place, MT_BLOCK_AREAS);
        ck_assert_msg(!is_taken[place], "two areas of a heap at %#llx have place %td",
                      (unsigned long long)heap, place);
        is_taken[place] = true;
    }
}

START_TEST(areas_of_a_heap_have_places_of_their_own)
{
    assert_own_places(UINT64_C(0x555500000000));
    assert_own_places(UINT64_C(0x7f5a3fff0000)); /* its higher bits change all at once */
}
END_TEST

int main(void)
{
    TCase *all = tcase_create("block areas");
    tcase_add_test(all, areas_of_a_heap_have_places_of_their_own);
    return RUN_TESTS(all);
}
