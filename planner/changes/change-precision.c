/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 16 bits instead of 32. `bf16`: every float. `autocast`: by what PyTorch runs in 16 bits and what
 * in 32; in between, the type is that of what goes in.
 */
#include "kinds.h"
#include "trace-format/dtypes.h"

#include <stdlib.h>
#include <string.h>

#define FLOAT32 7u

static bool is_float32(const struct mt_recorded *block)
{
    return block->dtype == FLOAT32 || !block->dtype;
}

/* How autocast runs an operator, by a part of its node's mangled name. */
enum runs { RUNS_AS_IT_COMES, RUNS_IN_16, RUNS_IN_32 };
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
    {"LogSoftmaxBackward", RUNS_IN_32},
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
    {"SoftplusBackward", RUNS_IN_32},
    {"BinaryCrossEntropy", RUNS_IN_32},
};

struct autocast {
    struct mt_edits *edits;
    const struct mt_recording *recording;
    bool *is_16;          /* by block: what it has now as 32 bits, it has as 16 */
    uint64_t *kept_in_32; /* by block: the last save that keeps it in 32 bits; 0: none */
    enum runs *runs;      /* by string id + 1, RUNS_... + 1; 0: not asked yet */
};

static enum runs runs_of(struct autocast *autocast, uint32_t name)
{
    if (autocast->runs[name])
        return autocast->runs[name] - 1;
    const char *text = mt_string(autocast->recording->definitions, name);
    enum runs runs = RUNS_AS_IT_COMES;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strstr(text, operators[i].name)) {
            runs = operators[i].runs;
            break;
        }
    autocast->runs[name] = runs + 1;
    return runs;
}

static size_t place(const struct autocast *autocast, const struct mt_recorded *block)
{
    return (size_t)(block - autocast->recording->block);
}

#define LOOK_BACK 64u

/* What goes in is not all in the trace: what the node saved; else the newest blocks of its size,
 * whatever made them; the wider type wins. */
static bool comes_in_16(const struct autocast *autocast, const struct mt_recorded_node *node,
                        const struct mt_recorded *output)
{
    size_t found = 0, at = place(autocast, output);
    for (uint32_t i = 0; i < node->n_saves; i++) {
        const struct mt_recorded *saved =
            mt_recorded_at(autocast->recording, autocast->recording->save[node->first_save + i]);
        if (!saved || saved == output || saved->category == MT_CATEGORY_PARAMETERS ||
            !is_float32(saved) || saved->size * 4 < output->size)
            continue;
        if (!autocast->is_16[place(autocast, saved)])
            return false;
        found++;
    }
    for (size_t i = at; !found && i && at - i < LOOK_BACK; i--) {
        const struct mt_recorded *other = &autocast->recording->block[i - 1];
        if (other->end < output->begin || other->size != output->size || !other->output_of ||
            !is_float32(other))
            continue;
        if (!autocast->is_16[i - 1])
            return false;
        found++;
        break;
    }
    return found;
}

static void choose(struct autocast *autocast, const struct mt_recorded_node *node)
{
    struct mt_recorded *output = mt_recorded_at(autocast->recording, node->output);
    enum runs runs = node->name ? runs_of(autocast, node->name) : RUNS_AS_IT_COMES;
    if (!node->name)
        return;
    if (output && is_float32(output) && output->category != MT_CATEGORY_PARAMETERS)
        autocast->is_16[place(autocast, output)] |=
            runs == RUNS_IN_16 || (runs == RUNS_AS_IT_COMES && comes_in_16(autocast, node, output));
    for (uint32_t i = 0; i < node->n_saves; i++) {
        const struct mt_recorded *saved =
            mt_recorded_at(autocast->recording, autocast->recording->save[node->first_save + i]);
        if (saved && saved != output && runs != RUNS_IN_16 &&
            autocast->kept_in_32[place(autocast, saved)] < node->begin)
            autocast->kept_in_32[place(autocast, saved)] = node->begin;
    }
}

/* A product saves copies of what comes in 32 bits; a weight's is made once, for forward and
 * backward. */
static void copy_inputs(struct autocast *autocast, const struct mt_recorded_node *node)
{
    if (!node->name || runs_of(autocast, node->name) != RUNS_IN_16)
        return;
    for (uint32_t i = 0; i < node->n_saves; i++) {
        const struct mt_recorded *saved =
            mt_recorded_at(autocast->recording, autocast->recording->save[node->first_save + i]);
        if (!saved || !is_float32(saved) || saved->begin == node->output ||
            autocast->is_16[place(autocast, saved)])
            continue;
        uint64_t end = mt_moment_of(node->end ? node->end : node->made + 1);
        mt_edits_add(autocast->edits, mt_moment_of(node->made) - 1, end, saved->size / 2);
    }
}

/* In 32 bits only as long as somebody needs it so. */
static void end_wide(struct autocast *autocast, size_t i)
{
    const struct mt_recorded *block = &autocast->recording->block[i];
    if (!block->saved || autocast->is_16[i] || block->category != MT_CATEGORY_ACTIVATIONS)
        return;
    const struct mt_turn *turn = mt_turn_after(autocast->recording, block->saved);
    if (!autocast->kept_in_32[i] && turn &&
        mt_moment_of(turn->event) < autocast->edits->block[i].end)
        autocast->edits->block[i].end = mt_moment_of(turn->event);
}

/* Gradients of what has 16 bits have 16; those of parameters are widened at once. */
static bool is_narrow_in_backward(struct autocast *autocast, const struct mt_recorded *block)
{
    return block->phase == MT_PHASE_BACKWARD && block->made_in && is_float32(block) &&
           block->category != MT_CATEGORY_GRADIENTS &&
           runs_of(autocast, block->made_in) == RUNS_IN_16;
}

static void narrow(struct autocast *autocast)
{
    for (size_t i = 0; i < autocast->recording->n; i++) {
        const struct mt_recorded *block = &autocast->recording->block[i];
        struct mt_edit *edit = &autocast->edits->block[i];
        if (block->category == MT_CATEGORY_GRADIENTS && block->made_in &&
            runs_of(autocast, block->made_in) == RUNS_IN_16)
            mt_edits_add(autocast->edits, edit->begin, edit->begin + 2, block->size / 2);
        if (autocast->is_16[i] || is_narrow_in_backward(autocast, block))
            edit->size = mt_block_of(block->size / 2);
        else
            end_wide(autocast, i);
    }
}

static int autocast_all(struct mt_edits *edits)
{
    const struct mt_recording *recording = edits->recording;
    struct autocast autocast = {
        .edits = edits,
        .recording = recording,
        .is_16 = calloc(recording->n + 1, sizeof *autocast.is_16),
        .kept_in_32 = calloc(recording->n + 1, sizeof *autocast.kept_in_32),
        .runs =
            calloc(mt_definitions_string_limit(recording->definitions) + 1, sizeof *autocast.runs)};
    int rc = autocast.is_16 && autocast.kept_in_32 && autocast.runs ? 0 : -ENOMEM;
    for (size_t i = 0; !rc && i < recording->n_nodes; i++)
        choose(&autocast, &recording->node[i]);
    for (size_t i = 0; !rc && i < recording->n_nodes; i++)
        copy_inputs(&autocast, &recording->node[i]);
    if (!rc)
        narrow(&autocast);
    free(autocast.is_16);
    free(autocast.kept_in_32);
    free(autocast.runs);
    return rc ? rc : edits->rc;
}

int mt_change_precision(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    const struct mt_recording *recording = edits->recording;
    bool has_floats = false;
    for (size_t i = 0; i < recording->n; i++)
        has_floats |= recording->block[i].dtype == FLOAT32;
    change->why_not = has_floats ? NULL : "no floats of 32 bits were seen";
    if (!strcmp(argument, "autocast"))
        return has_floats ? autocast_all(edits) : -ENOENT;
    if (strcmp(argument, "bf16") != 0)
        return -EINVAL;
    for (size_t i = 0; i < recording->n; i++)
        if (is_float32(&recording->block[i]) &&
            recording->block[i].category != MT_CATEGORY_WORKSPACE)
            edits->block[i].size = mt_block_of(edits->block[i].size / 2);
    return has_floats ? 0 : -ENOENT;
}
