/* SPDX-License-Identifier: Apache-2.0 */
/* Types of tensors, and allocations that depend on them. */
#include "kinds.h"
#include "trace-format/dtypes.h"

#include <string.h>

bool mt_is_float32(const struct mt_recorded_block *block)
{
    return block->dtype == MT_DTYPE_FLOAT32 || !block->dtype;
}

bool mt_is_reserve(const struct mt_recording *recording, const struct mt_recorded_node *node,
                   const struct mt_recorded_block *saved)
{
    const char *name = node->name ? mt_string(recording->definitions, node->name) : "";
    return (saved->dtype == MT_DTYPE_UINT8 && strstr(name, "CudnnRnnBackward")) ||
           (saved->dtype == MT_DTYPE_FLOAT32 && !saved->output_of && strstr(name, "ThnnFused") &&
            saved->category == MT_CATEGORY_ACTIVATIONS);
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
