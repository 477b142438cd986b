/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the host's instead of the card's: for an optimizer, for parameters, for activations. */
#include "kinds.h"

#include <string.h>

/* As torch.autograd.graph.save_on_cpu does: what is saved comes back while its node runs, the
 * weights that are saved likewise. */
static void offload_saved(struct mt_edits *edits)
{
    const struct mt_recording *recording = edits->recording;
    for (size_t i = 0; i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        bool is_saved = block->saved && (block->category == MT_CATEGORY_ACTIVATIONS ||
                                         block->category == MT_CATEGORY_INPUTS);
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
                             mt_moment_of(node->end ? node->end : node->begin + 1),
                             edits->block[block - recording->block].size);
        }
    }
}

int mt_change_offload(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    if (!strcmp(argument, "parameters"))
        return mt_offload_parameters(edits, change);
    if (!strcmp(argument, "activations")) {
        change->why_not = edits->recording->n_saves ? NULL : "nothing was saved for a backward";
        offload_saved(edits);
        return change->why_not ? -ENOENT : edits->rc;
    }
    if (strcmp(argument, "optimizer") != 0)
        return -EINVAL;
    change->why_not = edits->recording->n_steps ? NULL : "no optimizer's step was recorded";
    mt_drop_optimizer(edits);
    return change->why_not ? -ENOENT : 0;
}
