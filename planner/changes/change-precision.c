/* SPDX-License-Identifier: Apache-2.0 */
/* Every float in 16 bits instead of 32 (bf16). For autocast see change-autocast.c. */
#include "kinds.h"
#include "trace-format/dtypes.h"

#include <string.h>

/* Return whether programs usually convert it to 32 bits themselves (.float(), dtype=torch.float32):
 * hand-written norms, softmax, losses. If floats have 32 bits anyway, the trace does not show it.
 */
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

/* Return whether the node multiplies by a norm's reciprocal. */
static bool is_scaled_by_norm(const struct mt_recording *recording,
                              const struct mt_recorded_node *node)
{
    for (uint32_t i = 0; i < node->n_saves; i++) {
        const struct mt_recorded_block *saved = mt_node_save(recording, node, i);
        if (saved && strstr(name_of(recording, saved->output_of), "RsqrtBackward"))
            return true;
    }
    return false;
}

/* Widen the node's inputs and narrow its output: it saves the wide ones, and the next node saves
 * the narrow one. */
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
    if (output && mt_is_float32(output)) {
        size_t at = (size_t)(output - recording->block);
        if ((scales || strstr(name, "SoftmaxBackward")) && edits->block[at].size < output->size)
            mt_edits_add_as(edits, MT_ADDED_SAVED, made, edits->block[at].end, output->size / 2);
        edits->block[at].size = output->size;
    }
    const struct mt_recorded_block *saved =
        strstr(name, "PowBackward") && node->n_saves
            ? mt_recorded_at(recording, recording->save[node->first_save])
            : NULL;
    if (saved && mt_is_float32(saved))
        mt_edits_add_as(edits, MT_ADDED_SAVED, made - 1, end, saved->size);
    if (strstr(name, "LogSoftmax") && output)
        mt_edits_add(edits, made - 1, made + MT_WITHIN, output->size);
}

/* Return whether most parameters have 16 bits; those that model.bfloat16() made them of do not
 * count, since they are gone. */
static bool has_narrow_weights(const struct mt_recording *recording)
{
    double narrow = 0, all = 0;
    for (size_t i = 0; i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        if (block->category != MT_CATEGORY_PARAMETERS)
            continue;
        uint64_t end = block->end < recording->events ? block->end : recording->events;
        double lived = (double)block->size * (double)(end - block->begin);
        all += lived;
        narrow += mt_recorded_width(block) < 4 ? lived : 0;
    }
    return narrow > all / 2;
}

static void narrow_reserve(struct mt_edits *edits, const struct mt_recorded_node *node)
{
    for (uint32_t i = 0; i < node->n_saves; i++) {
        const struct mt_recorded_block *saved = mt_node_saved(edits->recording, node, i);
        if (saved && saved->dtype == MT_DTYPE_UINT8 && mt_is_reserve(edits->recording, node, saved))
            edits->block[saved - edits->recording->block].size = mt_block_of(saved->size / 2);
    }
}

/* Halve everything, and then widen what programs may convert back. */
static int narrow_all(struct mt_edits *edits)
{
    const struct mt_recording *recording = edits->recording;
    for (size_t i = 0; i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        bool stays = (edits->without & MT_GUESS_FLOATS) && block->phase == MT_PHASE_BACKWARD &&
                     is_doubtful(name_of(recording, block->made_in));
        if (mt_is_float32(block) && block->category != MT_CATEGORY_WORKSPACE && !stays)
            edits->block[i].size = mt_block_of(edits->block[i].size / 2);
    }
    for (size_t i = 0; i < recording->n_nodes; i++) {
        narrow_reserve(edits, &recording->node[i]);
        widen(edits, &recording->node[i]);
    }
    mt_drop_attention_copies(edits);
    return edits->rc;
}

int mt_change_precision(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    const struct mt_recording *recording = edits->recording;
    bool has_floats = false;
    for (size_t i = 0; i < recording->n; i++)
        has_floats |= recording->block[i].dtype == MT_DTYPE_FLOAT32;
    change->why_not = has_floats ? NULL : "no 32-bit floats were seen";
    if (!strcmp(argument, "autocast")) {
        if (has_floats && !mt_knows_operators(recording))
            change->why_not = "no backward was recorded, so operators are unknown";
        return change->why_not ? -ENOENT : mt_change_autocast(edits);
    }
    if (strcmp(argument, "bf16") != 0)
        return -EINVAL;
    if (has_floats && has_narrow_weights(recording))
        change->why_not = "the weights are already 16-bit";
    return change->why_not ? -ENOENT : narrow_all(edits);
}
