/* SPDX-License-Identifier: Apache-2.0 */
#include "precision.h"
#include "trace-format/dtypes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct mt_role_name mt_role_names[MT_ROLE_STATE + 1] = {
    [MT_ROLE_WEIGHTS] = {"weights", "weights"},
    [MT_ROLE_GRADIENTS] = {"gradients", "gradients"},
    [MT_ROLE_MASTERS] = {"master_weights", "master weights"},
    [MT_ROLE_STATE] = {"optimizer_state", "optimizer state"},
};

/* PyTorch rounds blocks to 512 bytes; from a large one it cuts no rest of up to 1 MiB. */
#define LARGE (1u << 20)

struct counts {
    uint64_t *of; /* elements of the parameters, in order, each once */
    size_t n;
};

static unsigned width_of(unsigned dtype)
{
    return mt_dtype_bits(dtype) / 8;
}

/* Whether a tensor of so many bytes fills the block but for rounding. */
static int fills(uint64_t bytes, uint64_t block)
{
    return bytes && bytes <= block && block - bytes <= (block > LARGE ? LARGE : 511);
}

static int role_of(const struct mt_verdict *verdict, enum mt_role *role)
{
    switch (verdict->rule->category) {
    case MT_CATEGORY_PARAMETERS:
        *role = MT_ROLE_WEIGHTS;
        return 1;
    case MT_CATEGORY_GRADIENTS:
        *role = MT_ROLE_GRADIENTS;
        return 1;
    case MT_CATEGORY_OPTIMIZER_STATE:
        *role = mt_rule_is_master(verdict->rule) ? MT_ROLE_MASTERS : MT_ROLE_STATE;
        return 1;
    default:
        return 0;
    }
}

/* By its label, where its tensor is all there is in the block: many may share a flat one. */
static uint64_t elements_of_weight(const struct mt_block *block)
{
    unsigned width = width_of(block->dtype);
    if (!width)
        return 0;
    uint64_t most = block->size / width;
    return block->elements <= most && fills(block->elements * width, block->size) ? block->elements
                                                                                  : most;
}

static int by_number(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static int count_weights(struct mt_precision *precision, struct counts *counts,
                         const struct mt_verdict *verdicts, size_t n)
{
    counts->of = calloc(n + 1, sizeof *counts->of);
    if (!counts->of)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (verdicts[i].rule->category != MT_CATEGORY_PARAMETERS)
            continue;
        uint64_t elements = elements_of_weight(verdicts[i].block);
        precision->parameters += elements;
        counts->of[counts->n] = elements;
        counts->n += elements > 0;
    }
    qsort(counts->of, counts->n, sizeof *counts->of, by_number);
    size_t kept = 0;
    for (size_t i = 0; i < counts->n; i++)
        if (!kept || counts->of[kept - 1] != counts->of[i])
            counts->of[kept++] = counts->of[i];
    counts->n = kept;
    return 0;
}

/* The bytes of a tensor in the block that has as many elements, of that width, as one of the
 * parameters; 0: none does. */
static uint64_t match(const struct counts *counts, uint64_t block, unsigned width)
{
    size_t low = 0, high = counts->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (counts->of[middle] <= block / width)
            low = middle + 1;
        else
            high = middle;
    }
    return low && fills(counts->of[low - 1] * width, block) ? counts->of[low - 1] * width : 0;
}

/* The row's key and the tensor's bytes for one block. */
static struct mt_precision_row measure(const struct counts *counts, enum mt_role role,
                                       const struct mt_block *block)
{
    static const unsigned widths[] = {4, 2, 1, 8}; /* the likeliest first */
    struct mt_precision_row row = {role, block->dtype, width_of(block->dtype), 0, 1};
    if (role == MT_ROLE_WEIGHTS && row.width)
        row.bytes = elements_of_weight(block) * row.width;
    else if (row.width)
        row.bytes = match(counts, block->size, row.width);
    for (size_t i = 0; !row.width && i < sizeof widths / sizeof *widths; i++) {
        row.bytes = match(counts, block->size, widths[i]);
        row.width = row.bytes ? widths[i] : 0;
    }
    if (!row.bytes)
        row.bytes = block->size;
    return row;
}

static void add(struct mt_precision *precision, const struct mt_precision_row *one)
{
    struct mt_precision_row *row = precision->row, *end = row + precision->n;
    while (row < end &&
           (row->role != one->role || row->dtype != one->dtype || row->width != one->width))
        row++;
    if (row == end && precision->n == MT_PRECISION_ROWS)
        row--; /* more types than anybody mixes */
    else if (row == end) {
        *row = *one;
        precision->n++;
        return;
    }
    row->bytes += one->bytes;
    row->blocks++;
}

static int by_role(const void *left, const void *right)
{
    const struct mt_precision_row *a = left, *b = right;
    if (a->role != b->role)
        return a->role < b->role ? -1 : 1;
    return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

static int is_mixed(const struct mt_precision *precision)
{
    unsigned seen = 0;
    for (size_t i = 0; i < precision->n; i++) {
        unsigned width = precision->row[i].width;
        if (precision->row[i].role != MT_ROLE_STATE && width &&
            (width < 4 || (seen && width != seen)))
            return 1;
        seen = width ? width : seen;
    }
    return 0;
}

int mt_precision_find(struct mt_precision *precision, const struct mt_verdict *verdicts, size_t n)
{
    struct counts counts = {0};
    enum mt_role role;
    memset(precision, 0, sizeof *precision);
    int rc = count_weights(precision, &counts, verdicts, n);
    for (size_t i = 0; i < n && precision->parameters; i++) {
        if (!role_of(&verdicts[i], &role))
            continue;
        struct mt_precision_row row = measure(&counts, role, verdicts[i].block);
        precision->bytes += row.bytes;
        precision->rounding += verdicts[i].block->size - row.bytes;
        add(precision, &row);
    }
    free(counts.of);
    qsort(precision->row, precision->n, sizeof *precision->row, by_role);
    precision->is_mixed = is_mixed(precision);
    return rc;
}
