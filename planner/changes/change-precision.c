/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 16 bits instead of 32. `bf16`: every float. `autocast`: by what PyTorch runs in 16 bits and what
 * in 32; in between, the type is that of what goes in.
 */
#include "analyzer/support/search.h"
#include "kinds.h"
#include "trace-format/dtypes.h"

#include <stdlib.h>
#include <string.h>

#define FLOAT32 7u

static bool is_float32(const struct mt_recorded_block *block)
{
    return block->dtype == FLOAT32 || !block->dtype;
}

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
    {"LayerNormBackward", RUNS_IN_32},
    {"LogSoftmaxBackward", RUNS_AS_IT_COMES}, /* cross_entropy asks for its input's type */
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
    bool *is_16;    /* by block: what it has now as 32 bits, it has as 16 */
    bool *is_known; /* by block: that was decided */
    bool *is_kept;  /* by block: a node saves it as it is, not a copy of the other type */
    const struct mt_recorded_node **ran; /* nodes in the order of backward */
    size_t n_ran;
    struct mt_by_id runs; /* by string: enum runs + 1; 0: not asked yet */
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

static bool is_wide(const struct autocast *autocast, const struct mt_recorded_block *block)
{
    return is_float32(block) && !autocast->is_16[place(autocast, block)];
}

/* Return whether what the node saved has 16 bits; -1: nothing tells its type. */
static int saved_in_16(const struct autocast *autocast, const struct mt_recorded_node *node,
                       const struct mt_recorded_block *output)
{
    int found = -1;
    for (uint32_t i = 0; i < node->n_saves; i++) {
        const struct mt_recorded_block *saved =
            mt_recorded_at(autocast->recording, autocast->recording->save[node->first_save + i]);
        if (!saved || saved == output || saved->category == MT_CATEGORY_PARAMETERS ||
            !is_float32(saved) || saved->size * 4 < output->size)
            continue;
        if (is_wide(autocast, saved))
            return 0;
        found = 1;
    }
    return found;
}

/* PyTorch leaves up to 1 MiB unused in a large block. */
static bool are_alike(uint64_t a, uint64_t b)
{
    uint64_t off = a > b ? a - b : b - a;
    return !off || (off < UINT64_C(1) << 20 && off < a / 8);
}

/* Sums save nothing: what goes in is the newest output of their size, and an older one. */
static bool is_sum(const struct autocast *autocast, const struct mt_recorded_node *node)
{
    const char *name = mt_string(autocast->recording->definitions, node->name);
    return strstr(name, "AddBackward") || strstr(name, "SubBackward");
}

/* The wider type wins. */
static bool comes_in_16(const struct autocast *autocast, const struct mt_recorded_node *node,
                        const struct mt_recorded_block *output)
{
    int saved = saved_in_16(autocast, node, output);
    if (saved >= 0)
        return saved;
    size_t at = place(autocast, output);
    unsigned found = 0, most = is_sum(autocast, node) ? LOOK_BACK : 1;
    for (size_t i = at; found < most && i && at - i < LOOK_BACK; i--) {
        const struct mt_recorded_block *other = &autocast->recording->block[i - 1];
        if (other->end < output->begin || !are_alike(other->size, output->size) ||
            !other->output_of || !is_float32(other))
            continue;
        if (is_wide(autocast, other))
            return false;
        found++;
    }
    return found;
}

/* A block's type is that of the first output in it; views come later. */
static void choose(struct autocast *autocast, const struct mt_recorded_node *node)
{
    struct mt_recorded_block *output = mt_recorded_at(autocast->recording, node->output);
    enum runs runs = node->name ? runs_of(autocast, node->name) : RUNS_IN_32;
    if (!output || !is_float32(output) || output->category == MT_CATEGORY_PARAMETERS ||
        autocast->is_known[place(autocast, output)])
        return;
    autocast->is_known[place(autocast, output)] = true;
    autocast->is_16[place(autocast, output)] =
        runs == RUNS_IN_16 || (runs == RUNS_AS_IT_COMES && comes_in_16(autocast, node, output));
}

/* A node saves a copy of what comes in another type than it runs in. */
static void save(struct autocast *autocast, const struct mt_recorded_node *node)
{
    enum runs runs = node->name ? runs_of(autocast, node->name) : RUNS_AS_IT_COMES;
    uint64_t made = mt_moment_of(node->made),
             end = mt_moment_of(node->end ? node->end : node->made + 1);
    for (uint32_t i = 0; i < node->n_saves; i++) {
        const struct mt_recorded_block *saved = mt_node_saved(autocast->recording, node, i);
        if (!saved)
            continue;
        bool is_16 = autocast->is_16[place(autocast, saved)];
        if (!is_float32(saved) || runs == RUNS_AS_IT_COMES || runs == RUNS_NOT ||
            is_16 == (runs == RUNS_IN_16))
            autocast->is_kept[place(autocast, saved)] = true;
        else
            mt_edits_add_as(autocast->edits, MT_ADDED_SAVED, made - 1, end,
                            autocast->edits->block[place(autocast, saved)].size / (is_16 ? 1 : 2));
    }
}

static int by_run(const void *left, const void *right)
{
    const struct mt_recorded_node *a = *(const struct mt_recorded_node *const *)left;
    const struct mt_recorded_node *b = *(const struct mt_recorded_node *const *)right;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* The node that ran when the block was made; NULL: not known. */
static const struct mt_recorded_node *maker_of(const struct autocast *autocast,
                                               const struct mt_recorded_block *block)
{
    size_t low = MT_LEADING(i, autocast->n_ran, autocast->ran[i]->begin < block->begin);
    return low && autocast->ran[low - 1]->end > block->begin ? autocast->ran[low - 1] : NULL;
}

/* Return whether the node made it as the gradient of what it saved in 32 bits, which came to it as
 * a copy: the gradient has 32 bits again, too. What the node saved in both types does not tell. */
static bool is_of_wide(const struct autocast *autocast, const struct mt_recorded_node *node,
                       const struct mt_recorded_block *block)
{
    bool is_wide_one = false;
    for (uint32_t i = 0; i < node->n_saves; i++) {
        const struct mt_recorded_block *saved =
            mt_recorded_at(autocast->recording, autocast->recording->save[node->first_save + i]);
        if (!saved || saved->category == MT_CATEGORY_PARAMETERS || !is_float32(saved) ||
            !are_alike(saved->size, block->size))
            continue;
        if (!is_wide(autocast, saved))
            return false;
        is_wide_one = true;
    }
    return is_wide_one;
}

/* Gradients have the type of what they are gradients of; a parameter's is widened at once. */
static bool is_narrow_in_backward(struct autocast *autocast, const struct mt_recorded_block *block)
{
    if (block->phase != MT_PHASE_BACKWARD || !block->made_in || !is_float32(block) ||
        block->category == MT_CATEGORY_GRADIENTS || block->is_addend)
        return false;
    enum runs runs = runs_of(autocast, block->made_in);
    const struct mt_recorded_node *node = runs != RUNS_IN_32 ? maker_of(autocast, block) : NULL;
    if (runs == RUNS_IN_16 && node && is_of_wide(autocast, node, block)) {
        uint64_t begin = mt_moment_of(block->begin);
        mt_edits_add(autocast->edits, begin, begin + 2, block->size / 2);
        return false;
    }
    const struct mt_recorded_block *output =
        node ? mt_recorded_at(autocast->recording, node->output) : NULL;
    return runs == RUNS_IN_16 || (output && autocast->is_16[place(autocast, output)]);
}

static void narrow(struct autocast *autocast)
{
    for (size_t i = 0; i < autocast->recording->n; i++) {
        const struct mt_recorded_block *block = &autocast->recording->block[i];
        uint64_t begin = autocast->edits->block[i].begin;
        if ((block->category == MT_CATEGORY_GRADIENTS || block->is_addend) && block->made_in &&
            runs_of(autocast, block->made_in) == RUNS_IN_16)
            mt_edits_add(autocast->edits, begin, begin + 2, autocast->edits->block[i].size / 2);
        if (autocast->is_16[i] || is_narrow_in_backward(autocast, block))
            autocast->edits->block[i].size = mt_block_of(autocast->edits->block[i].size / 2);
        if (!autocast->is_kept[i]) /* only copies of it are saved */
            mt_end_unsaved(autocast->edits, i);
    }
}

/* Suppose that what forward made for others has their type. */
static int follow(struct autocast *autocast)
{
    struct mt_edits *edits = autocast->edits;
    bool *is_made = mt_made_in_forward(autocast->recording);
    for (size_t i = 0; is_made && i < autocast->recording->n; i++)
        if (is_made[i] && is_float32(&autocast->recording->block[i])) {
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

static int autocast_all(struct mt_edits *edits)
{
    const struct mt_recording *recording = edits->recording;
    struct autocast autocast = {.edits = edits,
                                .recording = recording,
                                .is_16 = calloc(recording->n + 1, sizeof *autocast.is_16),
                                .is_known = calloc(recording->n + 1, sizeof *autocast.is_known),
                                .is_kept = calloc(recording->n + 1, sizeof *autocast.is_kept),
                                .ran = calloc(recording->n_nodes + 1, sizeof *autocast.ran)};
    int rc =
        autocast.is_16 && autocast.is_known && autocast.is_kept && autocast.ran
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
    free(autocast.ran);
    mt_by_id_clear(&autocast.runs);
    return rc ? rc : edits->rc;
}

/* Return whether programs are used to make it of 32 bits by themselves (.float(),
 * dtype=torch.float32): norms that are written out, softmax, losses. Where floats have 32 bits
 * anyway, the trace does not tell. */
static bool is_doubtful(const char *name)
{
    return strstr(name, "PowBackward") || strstr(name, "RsqrtBackward") ||
           strstr(name, "MeanBackward") || strstr(name, "SoftmaxBackward") ||
           strstr(name, "NllLoss");
}

static const char *name_of(const struct mt_recording *recording, uint32_t name)
{
    return name ? mt_string(recording->definitions, name) : "";
}

/* Return whether the node multiplies by what a norm divides by. */
static bool is_scaled_by_norm(const struct mt_recording *recording,
                              const struct mt_recorded_node *node)
{
    for (uint32_t i = 0; i < node->n_saves; i++) {
        const struct mt_recorded_block *saved =
            mt_recorded_at(recording, recording->save[node->first_save + i]);
        if (saved && strstr(name_of(recording, saved->output_of), "RsqrtBackward"))
            return true;
    }
    return false;
}

/* The program widens what goes into the node, and narrows what comes out of it: it saves the wide
 * ones, and the next node the narrow one. */
static void widen(struct mt_edits *edits, const struct mt_recorded_node *node)
{
    const struct mt_recording *recording = edits->recording;
    const char *name = name_of(recording, node->name);
    const struct mt_recorded_block *output = mt_recorded_at(recording, node->output);
    bool scales = is_scaled_by_norm(recording, node);
    uint64_t made = mt_moment_of(node->made),
             end = mt_moment_of(node->end ? node->end : node->made + 1);
    if (!is_doubtful(name) && !scales)
        return;
    edits->guesses |= MT_GUESS_FLOATS;
    if (!(edits->without & MT_GUESS_FLOATS))
        return;
    if (output && is_float32(output)) {
        size_t at = (size_t)(output - recording->block);
        if ((scales || strstr(name, "SoftmaxBackward")) && edits->block[at].size < output->size)
            mt_edits_add_as(edits, MT_ADDED_SAVED, made, edits->block[at].end, output->size / 2);
        edits->block[at].size = output->size;
    }
    const struct mt_recorded_block *saved =
        strstr(name, "PowBackward") && node->n_saves
            ? mt_recorded_at(recording, recording->save[node->first_save])
            : NULL;
    if (saved && is_float32(saved))
        mt_edits_add_as(edits, MT_ADDED_SAVED, made - 1, end, saved->size);
    if (strstr(name, "LogSoftmax") && output)
        mt_edits_add(edits, made - 1, made + MT_WITHIN, output->size);
}

static bool has_narrow_weights(const struct mt_recording *recording)
{
    uint64_t narrow = 0, all = 0;
    for (size_t i = 0; i < recording->n; i++)
        if (recording->block[i].category == MT_CATEGORY_PARAMETERS) {
            all += recording->block[i].size;
            narrow += mt_recorded_width(&recording->block[i]) < 4 ? recording->block[i].size : 0;
        }
    return narrow > all / 2;
}

/* Halve all, and then widen what may be made wide again. */
static int narrow_all(struct mt_edits *edits)
{
    const struct mt_recording *recording = edits->recording;
    for (size_t i = 0; i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        bool stays = (edits->without & MT_GUESS_FLOATS) && block->phase == MT_PHASE_BACKWARD &&
                     is_doubtful(name_of(recording, block->made_in));
        if (is_float32(block) && block->category != MT_CATEGORY_WORKSPACE && !stays)
            edits->block[i].size = mt_block_of(edits->block[i].size / 2);
    }
    for (size_t i = 0; i < recording->n_nodes; i++)
        widen(edits, &recording->node[i]);
    return edits->rc;
}

static bool knows_operators(const struct mt_recording *recording)
{
    size_t i = 0;
    while (i < recording->n_nodes && !recording->node[i].name)
        i++;
    return i < recording->n_nodes;
}

int mt_change_precision(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    const struct mt_recording *recording = edits->recording;
    bool has_floats = false;
    for (size_t i = 0; i < recording->n; i++)
        has_floats |= recording->block[i].dtype == FLOAT32;
    change->why_not = has_floats ? NULL : "no floats of 32 bits were seen";
    if (!strcmp(argument, "autocast")) {
        if (has_floats && !knows_operators(recording))
            change->why_not = "no backward was recorded, which names the operators";
        return change->why_not ? -ENOENT : autocast_all(edits);
    }
    if (strcmp(argument, "bf16") != 0)
        return -EINVAL;
    if (has_floats && has_narrow_weights(recording))
        change->why_not = "the weights have 16 bits already";
    return change->why_not ? -ENOENT : narrow_all(edits);
}
