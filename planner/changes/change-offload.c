/* SPDX-License-Identifier: Apache-2.0 */
/* Offloading of an optimizer, parameters or activations to host memory. */
#include "kinds.h"

#include <stdlib.h>
#include <string.h>

/* Return when a node is done with what it saved: when it frees the first of it, else at its end.
 * The engine may accumulate gradients in between. */
static uint64_t release_of(const struct mt_recording *recording,
                           const struct mt_recorded_node *node)
{
    uint64_t release = node->end ? node->end : node->begin + 1,
             sum = mt_sum_begins(recording, node);
    release = sum < release ? sum : release;
    for (uint32_t i = 0; i < node->n_saves; i++) {
        const struct mt_recorded_block *block = mt_node_saved(recording, node, i);
        if (block && block->end > node->begin && block->end < release)
            release = block->end;
    }
    return release;
}

/* Offload as torch.autograd.graph.save_on_cpu does: saved tensors, including weights, return to the
 * card while their node runs. */
static int offload_saved(struct mt_edits *edits)
{
    const struct mt_recording *recording = edits->recording;
    bool *is_held = mt_held_by_program(recording);
    for (size_t i = 0; is_held && i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        bool is_saved =
            block->saved && !is_held[i] &&
            (block->category == MT_CATEGORY_ACTIVATIONS || block->category == MT_CATEGORY_INPUTS);
        const struct mt_turn *turn = is_saved ? mt_turn_after(recording, block->saved) : NULL;
        if (turn && mt_moment_of(turn->event) < edits->block[i].end)
            edits->block[i].end = mt_moment_of(turn->event);
    }
    for (size_t i = 0; i < recording->n_nodes; i++) {
        const struct mt_recorded_node *node = &recording->node[i];
        for (uint32_t j = 0; node->begin && j < node->n_saves; j++) {
            const struct mt_recorded_block *block = mt_node_saved(recording, node, j);
            if (block)
                mt_edits_add(edits, mt_moment_of(node->begin) + 1,
                             mt_moment_of(release_of(recording, node)),
                             mt_saved_bytes(edits, node, block));
        }
    }
    free(is_held);
    return is_held ? edits->rc : -ENOMEM;
}

int mt_change_offload(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    if (!strcmp(argument, "parameters"))
        return mt_offload_parameters(edits, change);
    if (!strcmp(argument, "activations")) {
        change->why_not = edits->recording->n_saves ? NULL : "nothing was saved for a backward";
        return change->why_not ? -ENOENT : offload_saved(edits);
    }
    if (strcmp(argument, "optimizer") != 0)
        return -EINVAL;
    change->why_not = edits->recording->n_steps ? NULL : "no optimizer step was recorded";
    mt_drop_optimizer(edits);
    return change->why_not ? -ENOENT : 0;
}
