/* SPDX-License-Identifier: Apache-2.0 */
/* Which places of a kernel's lists of tensors are filled in, in the layouts of PyTorch's builds for
 * 4 KiB and for 32 KiB of parameters. */
#include "preload/uses/filled.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <string.h>

#define APPLY "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_"

/* As PyTorch declares them. */
struct small {
    const void *addresses[2][64];
    int64_t numel[64];
    uint8_t tensor[320];
    int32_t chunk[320], start;
};

struct fused {
    const void *addresses[4][252];
    int64_t numel[252];
    const void *steps[252];
    uint16_t tensor[2240];
    int32_t chunk[2240], start;
};

struct bytes {
    const void *addresses[5][30];
    int64_t numel[30];
    uint8_t scalar[30], tensor[320];
    int32_t chunk[320];
};

struct complexes {
    const void *addresses[2][420];
    int64_t numel[420];
    _Alignas(16) double scalar[420][2];
    uint16_t tensor[2240];
    int32_t chunk[2240];
};

static const unsigned grid[3] = {5, 3, 1};

/* Five blocks of the grid work on three tensors. */
#define FILL(list)                                                                                 \
    do {                                                                                           \
        memset(&(list), 0xab, sizeof(list));                                                       \
        for (unsigned i = 0; i < 5; i++)                                                           \
            (list).tensor[i] = (__typeof__(*(list).tensor))(i / 2);                                \
    } while (0)

static uint32_t count(const char *name, const void *list, size_t size, unsigned *rows,
                      size_t *stride)
{
    struct mt_filled filled = mt_filled_of(name);
    ck_assert_uint_eq(filled.parameter, 0);
    return mt_filled_count(&filled, list, size, grid, rows, stride);
}

START_TEST(lists_of_each_layout)
{
    static struct small small;
    static struct fused fused;
    static struct bytes bytes;
    static struct complexes complexes;
    unsigned rows;
    size_t stride;
    FILL(small);
    ck_assert_uint_eq(
        count(APPLY "18TensorListMetadataILi2EEENS1_1FE", &small, sizeof small, &rows, &stride), 3);
    ck_assert(rows == 2 && stride == sizeof small.addresses[0]);
    FILL(fused);
    ck_assert_uint_eq(count(APPLY "32FusedOptimizerTensorListMetadataILi4EEE", &fused, sizeof fused,
                            &rows, &stride),
                      3);
    ck_assert(rows == 6 && stride == sizeof fused.addresses[0]);
    FILL(bytes);
    ck_assert_uint_eq(
        count(APPLY "28TensorListScalarListMetadataIbLi5EEE", &bytes, sizeof bytes, &rows, &stride),
        3);
    ck_assert(rows == 5 && stride == sizeof bytes.addresses[0]);
    FILL(complexes);
    ck_assert_uint_eq(count(APPLY "28TensorListScalarListMetadataIN3c107complexIdEELi2EEE",
                            &complexes, sizeof complexes, &rows, &stride),
                      3);
    ck_assert(rows == 2 && stride == sizeof complexes.addresses[0]);
}
END_TEST

START_TEST(what_the_grid_says)
{
    struct mt_filled filled =
        mt_filled_of("_ZN2at6native1xE19CatArrayBatchedCopyINS1_10OpaqueTypeILj4EEEjLi4E");
    unsigned rows;
    size_t stride;
    char parameter[4096] = {0};
    ck_assert_uint_eq(filled.parameter, 1);
    ck_assert_uint_eq(mt_filled_count(&filled, parameter, sizeof parameter, grid, &rows, &stride),
                      3);
    ck_assert_uint_eq(rows, 1);
    filled = mt_filled_of("_ZN2at6native13lpmax_cleanupIfEEvPKT_NS0_19TensorListAddressesEPKli");
    ck_assert_uint_eq(mt_filled_count(&filled, parameter, sizeof parameter, grid, &rows, &stride),
                      5);
    ck_assert_uint_eq(mt_filled_count(&filled, parameter, 32, grid, &rows, &stride), 0);
}
END_TEST

START_TEST(another_layout_is_not_known)
{
    static struct small small;
    unsigned rows;
    size_t stride;
    static const char name[] = APPLY "18TensorListMetadataILi2EEENS1_1FE";
    FILL(small);
    small.tensor[4] = 7; /* no tensor is left out */
    ck_assert_uint_eq(count(name, &small, sizeof small, &rows, &stride), 0);
    FILL(small);
    small.tensor[0] = 1; /* the first is 0 */
    ck_assert_uint_eq(count(name, &small, sizeof small, &rows, &stride), 0);
    ck_assert_uint_eq(count(name, &small, 1000, &rows, &stride), 0);
    ck_assert_uint_eq(mt_filled_of(APPLY "18TensorListMetadataIXEE").rows, 0);
    ck_assert_uint_eq(mt_filled_of("_Z25multi_tensor_apply_kernelI18TensorListMetadataILi4EE").rows,
                      0);
    ck_assert_uint_eq(mt_filled_of(NULL).rows, 0);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("filled");
    tcase_add_test(tests, lists_of_each_layout);
    tcase_add_test(tests, what_the_grid_says);
    tcase_add_test(tests, another_layout_is_not_known);
    return RUN_TESTS(tests);
}
