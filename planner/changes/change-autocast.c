/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch.autocast: 16 bits instead of 32, by the operators that PyTorch runs in 16 and in 32 bits.
 * Other operators keep the type of their inputs.
 */
#include "analyzer/support/search.h"
#include "kinds.h"

#include <stdlib.h>
#include <string.h>

/* How autocast runs an operator, by a part of its node's mangled name. */
enum runs { RUNS_AS_IT_COMES, RUNS_IN_16, RUNS_IN_32, RUNS_NOT /* a view */ };
static const struct {
    const char *name;
    enum runs runs;
} operators[] = {
    {"AddmmBackward", RUNS_IN_16},
    {"MmBackward", RUNS_IN_16},
    {"BmmBackward", RUNS_IN_16},
    {"BaddbmmBackward", RUNS_IN_16},
    {"AddmvBackward", RUNS_IN_16},
    {"LinearBackward", RUNS_IN_16},
    {"ConvolutionBackward", RUNS_IN_16},
    {"ScaledDot", RUNS_IN_16},
    {"CudnnRnnBackward", RUNS_IN_16},
    {"ThnnFused", RUNS_IN_16},
    {"LayerNormBackward", RUNS_IN_32},
    {"LogSoftmaxBackward", RUNS_AS_IT_COMES}, /* cross_entropy uses its input's type */
    {"SoftmaxBackward", RUNS_IN_32},
    {"NllLoss", RUNS_IN_32},
    {"PowBackward", RUNS_IN_32},
    {"GroupNormBackward", RUNS_IN_32},
    {"EmbeddingBackward", RUNS_IN_32},
    {"MseLoss", RUNS_IN_32},
    {"RmsNorm", RUNS_IN_32},
    {"ExpBackward", RUNS_IN_32},
    {"LogBackward", RUNS_IN_32},
    {"RsqrtBackward", RUNS_IN_32},
    {"SumBackward", RUNS_IN_32},
    {"ViewBackward", RUNS_NOT},
    {"ReshapeAliasBackward", RUNS_NOT},
    {"TransposeBackward", RUNS_NOT},
    {"9TBackward", RUNS_NOT},
    {"PermuteBackward", RUNS_NOT},
    {"ExpandBackward", RUNS_NOT},
    {"UnsqueezeBackward", RUNS_NOT},
    {"SqueezeBackward", RUNS_NOT},
    {"SelectBackward", RUNS_NOT},
    {"SliceBackward", RUNS_NOT},
    {"SplitBackward", RUNS_NOT},
    {"UnbindBackward", RUNS_NOT},
    {"AliasBackward", RUNS_NOT},
    {"AsStridedBackward", RUNS_NOT},
    {"SoftplusBackward", RUNS_IN_32},
    {"BinaryCrossEntropy", RUNS_IN_32},
};

struct autocast {
    struct mt_edits *edits;
    const struct mt_recording *recording;
    bool *is_16;    /* by block: becomes 16 bits wide */
    bool *is_known; /* by block: has been decided */
    bool *is_kept;  /* by block: a node saves it itself, not a copy in the other type */
    size_t *copy;   /* by block: 1 + the index of a parameter's newest copy among the edits */
    const struct mt_recorded_node **ran; /* nodes in the order of backward */
    size_t n_ran;
    struct mt_by_id runs; /* by string: enum runs + 1; 0: not looked up yet */
};

static enum runs runs_of(struct autocast *autocast, uint32_t name)
{
    uint8_t *known = mt_by_id(&autocast->runs, name);
    if (*known)
        return (enum runs)(*known - 1);
    const char *text = mt_string(autocast->recording->definitions, name);
    enum runs runs = RUNS_AS_IT_COMES;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strstr(text, operators[i].name)) {
            runs = operators[i].runs;
            break;
        }
    *known = (uint8_t)(runs + 1);
    return runs;
}

static size_t place(const struct autocast *autocast, const struct mt_recorded_block *block)
{
    return (size_t)(block - autocast->recording->block);
}

#define LOOK_BACK 64u
#define LOOK_BACK_FAR 4096u
#define PARTS_MOST 256u

static bool is_wide(const struct autocast *autocast, const struct mt_recorded_block *block)
{
    return mt_is_float32(block) && !autocast->is_16[place(autocast, block)];
}

/* Return whether the node's saved input has 16 bits; -1: unknown. */
static int saved_in_16(const struct autocast *autocast, const struct mt_recorded_node *node,
                       const struct mt_recorded_block *output)
{
    int found = -1;
    for (uint32_t i = 0; i < node->n_saves; i++) {
        const struct mt_recorded_block *saved = mt_node_save(autocast->recording, node, i);
        if (!saved || saved == output || saved->category == MT_CATEGORY_PARAMETERS ||
            !mt_is_float32(saved) || saved->size * 4 < output->size)
            continue;
        if (is_wide(autocast, saved))
            return 0;
        found = 1;
    }
    return found;
}

/* Return whether two blocks are of one size: PyTorch leaves up to 1 MiB unused in a large block. */
static bool are_alike(uint64_t a, uint64_t b)
{
    uint64_t off = a > b ? a - b : b - a;
    return !off || (off < UINT64_C(1) << 20 && off < a / 8);
}

/* Return whether a node is a sum. Sums save nothing; their inputs are the newest output of their
 * size and an older one. */
static bool is_sum(const struct autocast *autocast, const struct mt_recorded_node *node)
{
    const char *name = mt_string(autocast->recording->definitions, node->name);
    return strstr(name, "AddBackward") || strstr(name, "SubBackward");
}

/* Return 1 + the index of the newest output before a place that is live when `output` is allocated,
 * of at most (or exactly) `most` bytes; 0: none. */
static size_t newest_part(const struct autocast *autocast, size_t before, uint64_t begin,
                          uint64_t most, bool is_all)
{
    for (size_t i = before; i && before - i < LOOK_BACK_FAR; i--) {
        const struct mt_recorded_block *part = &autocast->recording->block[i - 1];
        if (part->end >= begin && part->output_of && mt_is_float32(part) &&
            (is_all ? part->size == most : part->size <= most))
            return i;
    }
    return 0;
}

/* Return whether a concatenation has 16 bits. Nothing is saved; its parts are the newest outputs
 * that fill it, an exact fit first. */
static bool parts_in_16(const struct autocast *autocast, const struct mt_recorded_block *output)
{
    uint64_t left = output->size;
    size_t at = place(autocast, output);
    bool is_narrow = false;
    for (unsigned parts = 0; left && parts < PARTS_MOST; parts++) {
        size_t all = parts ? newest_part(autocast, at, output->begin, left, true) : 0;
        size_t part = all ? all : newest_part(autocast, at, output->begin, left, false);
        if (!part || is_wide(autocast, &autocast->recording->block[part - 1]))
            return false;
        is_narrow = true;
        left -= autocast->recording->block[part - 1].size;
        at = part - 1;
    }
    return is_narrow;
}

/* Return whether a padding's input, the newest output that is not larger, has 16 bits. */
static bool newest_in_16(const struct autocast *autocast, const struct mt_recorded_block *output)
{
    size_t part =
        newest_part(autocast, place(autocast, output), output->begin, output->size, false);
    return part && !is_wide(autocast, &autocast->recording->block[part - 1]);
}

/* Return whether the operands have 16 bits: the wider type wins. */
static bool comes_in_16(const struct autocast *autocast, const struct mt_recorded_node *node,
                        const struct mt_recorded_block *output)
{
    int saved = saved_in_16(autocast, node, output);
    if (saved >= 0)
        return saved;
    const char *name = mt_string(autocast->recording->definitions, node->name);
    if (strstr(name, "CatBackward") || strstr(name, "StackBackward"))
        return parts_in_16(autocast, output);
    if (strstr(name, "PadNdBackward"))
        return newest_in_16(autocast, output);
    size_t at = place(autocast, output);
    unsigned found = 0, most = is_sum(autocast, node) ? LOOK_BACK : 1;
    for (size_t i = at; found < most && i && at - i < LOOK_BACK; i--) {
        const struct mt_recorded_block *other = &autocast->recording->block[i - 1];
        if (other->end < output->begin || !are_alike(other->size, output->size) ||
            !other->output_of || !mt_is_float32(other))
            continue;
        if (is_wide(autocast, other))
            return false;
        found++;
    }
    return found;
}

/* Choose a block's type: that of its first output, since views come later. */
static void choose(struct autocast *autocast, const struct mt_recorded_node *node)
{
    struct mt_recorded_block *output = mt_recorded_at(autocast->recording, node->output);
    enum runs runs = node->name ? runs_of(autocast, node->name) : RUNS_IN_32;
    if (!output || !mt_is_float32(output) || output->category == MT_CATEGORY_PARAMETERS ||
        autocast->is_known[place(autocast, output)])
        return;
    autocast->is_known[place(autocast, output)] = true;
    autocast->is_16[place(autocast, output)] =
        runs == RUNS_IN_16 || (runs == RUNS_AS_IT_COMES && comes_in_16(autocast, node, output));
}

/* Add a copy of what a node saves in another type. PyTorch copies a parameter once per forward for
 * all its nodes. */
static void add_copy(struct autocast *autocast, const struct mt_recorded_block *saved,
                     uint64_t begin, uint64_t end, uint64_t bytes)
{
    struct mt_edits *edits = autocast->edits;
    size_t *copy = &autocast->copy[place(autocast, saved)], n = edits->n;
    struct mt_edit *last = *copy ? &edits->block[*copy - 1] : NULL;
    if (last && last->end > begin) {
        last->end = last->end > end ? last->end : end;
        return;
    }
    mt_edits_add_as(edits, MT_ADDED_SAVED, begin, end, bytes);
    if (saved->category == MT_CATEGORY_PARAMETERS && edits->n > n)
        *copy = edits->n;
}

/* Save a copy of an input that has another type than the node runs in. */
static void save(struct autocast *autocast, const struct mt_recorded_node *node)
{
    enum runs runs = node->name ? runs_of(autocast, node->name) : RUNS_AS_IT_COMES;
    uint64_t made = mt_moment_of(node->made),
             end = mt_moment_of(node->end ? node->end : node->made + 1);
    for (uint32_t i = 0; i < node->n_saves; i++) {
        const struct mt_recorded_block *saved = mt_node_saved(autocast->recording, node, i);
        if (!saved)
            continue;
        if (mt_is_reserve(autocast->recording, node, saved))
            autocast->is_16[place(autocast, saved)] = true;
        bool is_16 = autocast->is_16[place(autocast, saved)];
        if (!mt_is_float32(saved) || runs == RUNS_AS_IT_COMES || runs == RUNS_NOT ||
            is_16 == (runs == RUNS_IN_16))
            autocast->is_kept[place(autocast, saved)] = true;
        else
            add_copy(autocast, saved, made - 1, end,
                     mt_saved_bytes(autocast->edits, node, saved) / (is_16 ? 1 : 2));
    }
}

MT_ORDER_OF_POINTERS(by_run, struct mt_recorded_node, MT_RISING(begin))

/* Return the node that ran when the block was allocated; NULL: unknown. */
static const struct mt_recorded_node *maker_of(const struct autocast *autocast,
                                               const struct mt_recorded_block *block)
{
    size_t low = MT_LEADING(i, autocast->n_ran, autocast->ran[i]->begin < block->begin);
    return low && autocast->ran[low - 1]->end > block->begin ? autocast->ran[low - 1] : NULL;
}

/* Return whether the block is the gradient of a saved 32-bit input that the node received as a
 * copy, so that the gradient has 32 bits, too. An input saved in both types is ambiguous. */
static bool is_of_wide(const struct autocast *autocast, const struct mt_recorded_node *node,
                       const struct mt_recorded_block *block)
{
    bool is_wide_one = false;
    for (uint32_t i = 0; i < node->n_saves; i++) {
        const struct mt_recorded_block *saved = mt_node_save(autocast->recording, node, i);
        if (!saved || saved->category == MT_CATEGORY_PARAMETERS || !mt_is_float32(saved) ||
            !are_alike(saved->size, block->size))
            continue;
        if (!is_wide(autocast, saved))
            return false;
        is_wide_one = true;
    }
    return is_wide_one;
}

/* Return whether a gradient has 16 bits: it has its tensor's type, except that a parameter's is
 * widened at once. A library's workspace has the same size in any type. */
static bool is_narrow_in_backward(struct autocast *autocast, const struct mt_recorded_block *block)
{
    if (block->phase != MT_PHASE_BACKWARD || !block->made_in || !mt_is_float32(block) ||
        block->category == MT_CATEGORY_GRADIENTS || block->category == MT_CATEGORY_WORKSPACE ||
        block->is_addend)
        return false;
    enum runs runs = runs_of(autocast, block->made_in);
    const struct mt_recorded_node *node = runs != RUNS_IN_32 ? maker_of(autocast, block) : NULL;
    if (runs == RUNS_IN_16 && node && is_of_wide(autocast, node, block)) {
        uint64_t begin = mt_moment_of(block->begin);
        mt_edits_add(autocast->edits, begin, begin + 2, block->size / 2);
        return false;
    }
    if (node && block->begin > mt_sum_begins(autocast->recording, node))
        return false;
    const struct mt_recorded_block *output =
        node ? mt_recorded_at(autocast->recording, node->output) : NULL;
    return runs == RUNS_IN_16 || (output && autocast->is_16[place(autocast, output)]);
}

/* Return whether only a library used it, while forward ran one operator in 16 bits. */
static bool is_narrow_scratch(struct autocast *autocast, const struct mt_recorded_block *block)
{
    const struct mt_recording *recording = autocast->recording;
    if (block->phase != MT_PHASE_FORWARD || block->category != MT_CATEGORY_TEMPORARIES ||
        block->output_of || block->saved || !mt_is_float32(block))
        return false;
    size_t next = mt_first_node(recording, block->begin);
    return next < recording->n_nodes && recording->node[next].name &&
           block->end <= recording->node[next].made &&
           runs_of(autocast, recording->node[next].name) == RUNS_IN_16;
}

static void narrow(struct autocast *autocast)
{
    for (size_t i = 0; i < autocast->recording->n; i++) {
        const struct mt_recorded_block *block = &autocast->recording->block[i];
        uint64_t begin = autocast->edits->block[i].begin;
        if ((block->category == MT_CATEGORY_GRADIENTS || block->is_addend) && block->made_in &&
            runs_of(autocast, block->made_in) == RUNS_IN_16)
            mt_edits_add(autocast->edits, begin, begin + 2, autocast->edits->block[i].size / 2);
        if (autocast->is_16[i] || is_narrow_in_backward(autocast, block) ||
            is_narrow_scratch(autocast, block))
            autocast->edits->block[i].size = mt_block_of(autocast->edits->block[i].size / 2);
        if (!autocast->is_kept[i]) /* only copies of it are saved */
            mt_end_unsaved(autocast->edits, i);
    }
    mt_drop_attention_copies(autocast->edits);
}

/* Assume that what forward allocated for others has their type. */
static int follow(struct autocast *autocast)
{
    struct mt_edits *edits = autocast->edits;
    bool *is_made = mt_made_in_forward(autocast->recording);
    for (size_t i = 0; is_made && i < autocast->recording->n; i++)
        if (is_made[i] && mt_is_float32(&autocast->recording->block[i])) {
            edits->guesses |= MT_GUESS_MADE;
            autocast->is_16[i] = !(edits->without & MT_GUESS_MADE);
        }
    free(is_made);
    return is_made ? 0 : -ENOMEM;
}

static void apply_autocast(struct autocast *autocast)
{
    const struct mt_recording *recording = autocast->recording;
    for (size_t i = 0; i < recording->n_nodes; i++) {
        choose(autocast, &recording->node[i]);
        if (recording->node[i].begin)
            autocast->ran[autocast->n_ran++] = &recording->node[i];
    }
    if (autocast->n_ran)
        qsort(autocast->ran, autocast->n_ran, sizeof(void *), by_run);
    for (size_t i = 0; i < recording->n_nodes; i++)
        save(autocast, &recording->node[i]);
    narrow(autocast);
}

/* Return whether the node is 32-bit attention that would run as flash attention in 16 bits. Flash
 * attention accepts no mask, which would be saved next to queries, keys, values, the output and its
 * sums. */
static bool may_be_flash(const struct mt_recording *recording, const struct mt_recorded_node *node)
{
    unsigned floats = 0;
    if (!node->name ||
        !strstr(mt_string(recording->definitions, node->name), "ScaledDotProductEfficient"))
        return false;
    for (uint32_t i = 0; i < node->n_saves; i++) {
        const struct mt_recorded_block *saved = mt_node_save(recording, node, i);
        floats += !saved || mt_is_float32(saved);
    }
    return floats <= 5;
}

void mt_drop_attention_copies(struct mt_edits *edits)
{
    const struct mt_recording *recording = edits->recording;
    uint64_t output = 0;
    for (size_t i = 0; i < recording->n_nodes; i++) {
        const struct mt_recorded_node *node = &recording->node[i];
        const struct mt_recorded_block *copy = mt_recorded_at(recording, node->output),
                                       *of = mt_recorded_at(recording, output);
        if (node->output == output)
            continue; /* a view */
        if (copy && of && mt_requested_bytes(copy) == mt_requested_bytes(of) && node->name &&
            strstr(mt_string(recording->definitions, node->name), "CloneBackward"))
            mt_drop_block(edits, (size_t)(copy - recording->block));
        output = may_be_flash(recording, node) ? node->output : 0;
    }
}

int mt_change_autocast(struct mt_edits *edits)
{
    const struct mt_recording *recording = edits->recording;
    struct autocast autocast = {.edits = edits,
                                .recording = recording,
                                .is_16 = calloc(recording->n + 1, sizeof *autocast.is_16),
                                .is_known = calloc(recording->n + 1, sizeof *autocast.is_known),
                                .is_kept = calloc(recording->n + 1, sizeof *autocast.is_kept),
                                .copy = calloc(recording->n + 1, sizeof *autocast.copy),
                                .ran = calloc(recording->n_nodes + 1, sizeof *autocast.ran)};
    int rc =
        autocast.is_16 && autocast.is_known && autocast.is_kept && autocast.copy && autocast.ran
            ? mt_by_id_make(&autocast.runs, mt_definitions_string_limit(recording->definitions),
                            sizeof(uint8_t))
            : -ENOMEM;
    if (!rc)
        rc = follow(&autocast);
    if (!rc)
        apply_autocast(&autocast);
    free(autocast.is_16);
    free(autocast.is_known);
    free(autocast.is_kept);
    free(autocast.copy);
    free(autocast.ran);
    mt_by_id_clear(&autocast.runs);
    return rc ? rc : edits->rc;
}
