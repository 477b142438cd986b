/* SPDX-License-Identifier: Apache-2.0 */
#include "precision.h"
#include "analyzer/support/median.h"
#include "analyzer/support/search.h"
#include "trace-format/dtypes.h"
#include "trace-format/meaning/marks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const struct mt_role_name mt_role_names[MT_ROLES] = {
    [MT_ROLE_WEIGHTS] = {"weights", "weights"},
    [MT_ROLE_GATHERED] = {"gathered_weights", "gathered weights"},
    [MT_ROLE_COPIES] = {"copies_of_weights", "copies of weights"},
    [MT_ROLE_GRADIENTS] = {"gradients", "gradients"},
    [MT_ROLE_MASTERS] = {"master_weights", "master weights"},
    [MT_ROLE_STATE] = {"optimizer_state", "optimizer state"},
};

/* PyTorch rounds blocks to 512 bytes, and does not split a rest of up to 1 MiB from a large one. */
#define LARGE (1u << 20)

struct counts {
    uint64_t *of; /* elements of the parameters, in order, each once */
    size_t n;
};

/* The blocks of one device, and facts about their parameters. */
struct finder {
    const struct mt_definitions *definitions;
    const struct mt_verdict *verdicts;
    size_t n;
    struct mt_shard *part; /* in order */
    size_t n_parts;
    struct counts counts;  /* of weights */
    struct counts trained; /* of trained weights */
    bool has_copies;       /* of all trained weights */
    bool has_model;        /* weights that a module uses and no optimizer updates */
    unsigned narrowest;    /* bytes an element of these weights */
};

static unsigned width_of(unsigned dtype)
{
    return mt_dtype_bits(dtype) / 8;
}

/* Return whether a tensor of so many bytes fills the block, except for rounding. */
static int fills(uint64_t bytes, uint64_t block)
{
    return bytes && bytes <= block && block - bytes <= (block > LARGE ? LARGE : 511);
}

/* Take the label's number if its tensor fills the block: many tensors may share a flat one. */
static uint64_t elements_of_weight(const struct mt_block *block)
{
    unsigned width = width_of(block->dtype);
    if (!width)
        return 0;
    uint64_t most = block->size / width;
    uint64_t elements = mt_block_elements(block);
    return elements <= most && fills(elements * width, block->size) ? elements : most;
}

static bool saw(const struct mt_block *block, uint32_t evidence)
{
    return (block->evidence & evidence) != 0;
}

static bool is_trained(const struct mt_block *block)
{
    return saw(block, MT_SAW_LEAF | MT_SAW_STEPPED);
}

static uint64_t whole_of(const struct finder *finder, const struct mt_block *block)
{
    return mt_parts_whole(finder->part, finder->n_parts, mt_block_event(block));
}

/* Return whether a weight is gathered: FSDP empties the storages of gathered weights; ZeRO-3 gives
 * its parameters other data in forward and backward. */
static bool is_gathered(const struct finder *finder, const struct mt_block *block)
{
    bool is_late = block->birth->when.phase == MT_PHASE_FORWARD ||
                   block->birth->when.phase == MT_PHASE_BACKWARD;
    if (whole_of(finder, block))
        return false;
    return saw(block, MT_SAW_EMPTIED) ||
           (finder->n_parts && is_late && saw(block, MT_SAW_SET_DATA) &&
            !saw(block, MT_SAW_STEPPED));
}

/* Return whether it is a weight of the model that optimizers update through a copy. */
static bool is_models(const struct finder *finder, const struct mt_block *block)
{
    return !saw(block, MT_SAW_STEPPED) && !is_gathered(finder, block) &&
           (saw(block, MT_SAW_LEAF) || whole_of(finder, block));
}

/* Return whether a module uses it. Being a leaf alone shows less: writing it to the model's weights
 * may make it one. */
static bool is_used_by_module(const struct finder *finder, const struct mt_block *block)
{
    return saw(block, MT_SAW_LEAF) &&
           mt_stack(finder->definitions, block->leaf_stack)->phase & MT_MARK_MODULE_CALL;
}

/* Return whether an optimizer updates it and no module uses it. */
static bool is_master(const struct finder *finder, const struct mt_block *block)
{
    unsigned width = width_of(block->dtype);
    return finder->has_model && saw(block, MT_SAW_STEPPED) && !saw(block, MT_SAW_SET_DATA) &&
           !is_used_by_module(finder, block) && !whole_of(finder, block) &&
           (!width || !finder->narrowest || width > finder->narrowest);
}

static bool has(const struct counts *counts, uint64_t elements)
{
    return elements &&
           bsearch(&elements, counts->of, counts->n, sizeof *counts->of, mt_by_value) != NULL;
}

/* Return whether copy.deepcopy made it, it is never trained, and a trained parameter has its
 * size. */
static bool may_be_copy(const struct finder *finder, const struct mt_block *block)
{
    uint32_t marks = mt_stack(finder->definitions, block->stack)->marks;
    return marks & MT_MARK_COPY_DICT && marks & (MT_MARK_COPY_TENSOR | MT_MARK_MODULE_INIT) &&
           !is_trained(block) && has(&finder->trained, elements_of_weight(block));
}

static bool is_parameter(const struct mt_verdict *verdict)
{
    return verdict->rule->category == MT_CATEGORY_PARAMETERS;
}

/* Find copies. An average has a copy of all trained weights; a few frozen layers are not copies. */
static void find_copies(struct finder *finder)
{
    uint64_t copied = 0, trained = 0;
    for (size_t i = 0; i < finder->n; i++) {
        const struct mt_block *block = finder->verdicts[i].block;
        if (!is_parameter(&finder->verdicts[i]))
            continue;
        copied += may_be_copy(finder, block) ? elements_of_weight(block) : 0;
        trained += is_trained(block) ? elements_of_weight(block) : 0;
    }
    finder->has_copies = trained && copied / 9 >= trained / 10;
}

static enum mt_role role_of_parameter(const struct finder *finder, const struct mt_verdict *verdict)
{
    if (is_gathered(finder, verdict->block))
        return MT_ROLE_GATHERED;
    if (is_master(finder, verdict->block))
        return MT_ROLE_MASTERS;
    return finder->has_copies && may_be_copy(finder, verdict->block) ? MT_ROLE_COPIES
                                                                     : MT_ROLE_WEIGHTS;
}

static bool role_of(const struct finder *finder, const struct mt_verdict *verdict,
                    enum mt_role *role)
{
    switch (verdict->rule->category) {
    case MT_CATEGORY_PARAMETERS:
        *role = role_of_parameter(finder, verdict);
        return true;
    case MT_CATEGORY_COPIES:
        *role = MT_ROLE_COPIES;
        return true;
    case MT_CATEGORY_GRADIENTS:
        *role = MT_ROLE_GRADIENTS;
        return true;
    case MT_CATEGORY_OPTIMIZER_STATE:
        *role = mt_rule_is_master(verdict->rule) ? MT_ROLE_MASTERS : MT_ROLE_STATE;
        return true;
    default:
        return false;
    }
}

static int make_room(struct counts *counts, size_t n)
{
    counts->of = calloc(n + 1, sizeof *counts->of);
    return counts->of ? 0 : -ENOMEM;
}

static void add_count(struct counts *counts, uint64_t elements)
{
    counts->of[counts->n] = elements;
    counts->n += elements > 0;
}

/* Collect facts about all blocks that the role of one block needs. */
static void find_widths(struct finder *finder)
{
    for (size_t i = 0; i < finder->n; i++) {
        const struct mt_block *block = finder->verdicts[i].block;
        unsigned width = width_of(block->dtype);
        if (!is_parameter(&finder->verdicts[i]))
            continue;
        if (is_trained(block))
            add_count(&finder->trained, elements_of_weight(block));
        if (!is_models(finder, block))
            continue;
        finder->has_model = true;
        if (width && (!finder->narrowest || width < finder->narrowest))
            finder->narrowest = width;
    }
    finder->trained.n = mt_sort_once(finder->trained.of, finder->trained.n);
    find_copies(finder);
}

static void count_weights(struct mt_precision *precision, struct finder *finder)
{
    uint64_t gathered = 0, whole;
    enum mt_role role;
    for (size_t i = 0; i < finder->n; i++) {
        if (!role_of(finder, &finder->verdicts[i], &role))
            continue;
        uint64_t elements = elements_of_weight(finder->verdicts[i].block);
        if (role == MT_ROLE_WEIGHTS || role == MT_ROLE_GATHERED)
            add_count(&finder->counts, elements);
        gathered += role == MT_ROLE_GATHERED;
        if (role != MT_ROLE_WEIGHTS)
            continue;
        whole = whole_of(finder, finder->verdicts[i].block);
        precision->here += elements;
        precision->parameters += whole ? whole : elements;
    }
    precision->lacks_others = gathered && !finder->n_parts;
    finder->counts.n = mt_sort_once(finder->counts.of, finder->counts.n);
}

/* Return the bytes of a tensor in the block with this width and as many elements as one of the
 * parameters; 0: none fits. */
static uint64_t match(const struct counts *counts, uint64_t block, unsigned width)
{
    size_t low = MT_LEADING(i, counts->n, counts->of[i] <= block / width);
    return low && fills(counts->of[low - 1] * width, block) ? counts->of[low - 1] * width : 0;
}

/* Return the row's key and the tensor's bytes for one block. */
static struct mt_precision_row measure(const struct counts *counts, enum mt_role role,
                                       const struct mt_block *block)
{
    static const unsigned widths[] = {4, 2, 1, 8}; /* the likeliest first */
    struct mt_precision_row row = {role, block->dtype, width_of(block->dtype), 0, 1};
    if (role <= MT_ROLE_COPIES && row.width)
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
        row--; /* too many types: add to the last row */
    else if (row == end) {
        *row = *one;
        precision->n++;
        return;
    }
    row->bytes += one->bytes;
    row->blocks++;
}

MT_ORDER(by_role, struct mt_precision_row, MT_RISING(role) ?: MT_FALLING(bytes))

static bool is_mixed(const struct mt_precision *precision)
{
    unsigned seen = 0;
    for (size_t i = 0; i < precision->n; i++) {
        unsigned width = precision->row[i].width;
        if (precision->row[i].role != MT_ROLE_STATE && width &&
            (width < 4 || (seen && width != seen)))
            return true;
        seen = width ? width : seen;
    }
    return false;
}

static void fill(struct mt_precision *precision, struct finder *finder)
{
    enum mt_role role;
    find_widths(finder);
    count_weights(precision, finder);
    for (size_t i = 0; i < finder->n && precision->parameters; i++) {
        const struct mt_block *block = finder->verdicts[i].block;
        if (!role_of(finder, &finder->verdicts[i], &role))
            continue;
        struct mt_precision_row row = measure(&finder->counts, role, block);
        precision->bytes += row.bytes;
        precision->rounding += block->size - row.bytes;
        add(precision, &row);
    }
    qsort(precision->row, precision->n, sizeof *precision->row, by_role);
    precision->is_mixed = is_mixed(precision);
}

int mt_precision_find(struct mt_precision *precision, const struct mt_definitions *definitions,
                      const struct mt_parts *parts, const struct mt_verdict *verdicts, size_t n)
{
    struct finder finder = {.definitions = definitions, .verdicts = verdicts, .n = n};
    int rc;
    memset(precision, 0, sizeof *precision);
    finder.part = mt_parts_in_order(parts, &rc);
    finder.n_parts = finder.part ? parts->n : 0;
    if (!rc)
        rc = make_room(&finder.counts, n) || make_room(&finder.trained, n) ? -ENOMEM : 0;
    if (!rc)
        fill(precision, &finder);
    free(finder.part);
    free(finder.counts.of);
    free(finder.trained.of);
    return rc;
}
