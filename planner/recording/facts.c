/* SPDX-License-Identifier: Apache-2.0 */
#include "facts.h"
#include "analyzer/support/search.h"
#include "trace-format/dtypes.h"

#include <stdlib.h>
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

bool mt_is_of_model(const struct mt_recorded_block *block)
{
    switch (block->category) {
    case MT_CATEGORY_PARAMETERS:
    case MT_CATEGORY_BUFFERS:
    case MT_CATEGORY_COPIES:
    case MT_CATEGORY_GRADIENTS:
    case MT_CATEGORY_OPTIMIZER_STATE:
    case MT_CATEGORY_WORKSPACE:
    case MT_CATEGORY_COMMUNICATION:
    case MT_CATEGORY_RUNTIME:
        return true;
    }
    return block->step;
}

bool mt_is_weight_copy(const struct mt_recorded_block *block)
{
    return block->category == MT_CATEGORY_COPIES && !(block->evidence & MT_SAW_AUTOCAST);
}

size_t mt_first_made(const struct mt_recording *recording, uint64_t event)
{
    return MT_LEADING(i, recording->n, recording->block[i].begin < event);
}

size_t mt_first_node(const struct mt_recording *recording, uint64_t event)
{
    return MT_LEADING(i, recording->n_nodes, recording->node[i].made < event);
}

/* Return the output that was made last: what a call returns is not its own to give up. */
uint64_t mt_call_output(const struct mt_recording *recording, const struct mt_module_call *call)
{
    size_t low = mt_first_node(recording, call->forward_end);
    for (; low && recording->node[low - 1].made >= call->forward; low--)
        if (recording->node[low - 1].output)
            return recording->node[low - 1].output;
    return 0;
}

bool mt_is_checkpointed(const struct mt_recording *recording, uint32_t stack)
{
    static const char file[] = "/torch/utils/checkpoint.py";
    for (; stack && mt_stack(recording->definitions, stack)->depth;
         stack = mt_stack(recording->definitions, stack)->parent) {
        const char *path = mt_stack_frame(recording->definitions, stack)->file;
        size_t size = path ? strlen(path) : 0;
        if (size >= sizeof file - 1 && !strcmp(path + size - (sizeof file - 1), file))
            return true;
    }
    return false;
}

bool mt_knows_operators(const struct mt_recording *recording)
{
    size_t i = 0;
    while (i < recording->n_nodes && !recording->node[i].name)
        i++;
    return i < recording->n_nodes;
}

const struct mt_recorded_step *mt_step_after(const struct mt_recording *recording, uint64_t event)
{
    size_t low = MT_LEADING(i, recording->n_steps,
                            recording->step[i].end && recording->step[i].end <= event);
    return low < recording->n_steps && recording->step[low].end ? &recording->step[low] : NULL;
}

bool mt_outlives_step(const struct mt_recording *recording, const struct mt_recorded_block *block)
{
    const struct mt_recorded_step *own = mt_step_after(recording, block->begin);
    return own && own->end < block->end;
}

/* Return whether the program holds what was saved: backward is done with it, and it was freed
 * later. */
static bool is_held(const struct mt_recording *recording, const struct mt_recorded_block *block,
                    uint64_t done)
{
    const struct mt_turn *next = mt_turn_after(recording, block->end);
    size_t at = next ? (size_t)(next - recording->turn) : recording->n_turns;
    return done < block->end && block->end != MT_EVER && at &&
           recording->turn[at - 1].phase != MT_PHASE_BACKWARD;
}

bool *mt_held_by_program(const struct mt_recording *recording)
{
    bool *is_held_one = calloc(recording->n + 1, sizeof *is_held_one);
    uint64_t held = 0, all = 0;
    for (size_t i = 0; is_held_one && i < recording->n_nodes; i++) {
        const struct mt_recorded_node *node = &recording->node[i];
        for (uint32_t j = 0; node->end && j < node->n_saves; j++) {
            const struct mt_recorded_block *block = mt_node_saved(recording, node, j);
            if (!block || mt_is_of_model(block))
                continue;
            size_t at = (size_t)(block - recording->block);
            is_held_one[at] = is_held(recording, block, node->end);
            all += block->size;
            held += is_held_one[at] ? block->size : 0;
        }
    }
    if (held > all / 2) /* the graph is: retain_graph=True */
        memset(is_held_one, 0, recording->n * sizeof *is_held_one);
    return is_held_one;
}

bool *mt_outputs_of_nodes(const struct mt_recording *recording)
{
    bool *is_output = calloc(recording->n + 1, sizeof *is_output);
    for (size_t i = 0; is_output && i < recording->n; i++)
        is_output[i] = recording->block[i].output_of != 0;
    for (size_t i = 0; is_output && i < recording->n_nodes; i++) {
        const struct mt_recorded_block *output =
            mt_recorded_at(recording, recording->node[i].output);
        if (output)
            is_output[output - recording->block] = true;
    }
    return is_output;
}

bool *mt_made_in_forward(const struct mt_recording *recording)
{
    bool *is_made = calloc(recording->n + 1, sizeof *is_made);
    bool *is_output = mt_outputs_of_nodes(recording);
    if (!is_output) {
        free(is_made);
        return NULL;
    }
    for (size_t i = 0; is_made && i < recording->n_nodes; i++) {
        const struct mt_recorded_node *node = &recording->node[i];
        const struct mt_recorded_block *output = mt_recorded_at(recording, node->output);
        for (uint32_t j = 0; output && j < node->n_saves; j++) {
            const struct mt_recorded_block *saved = mt_node_save(recording, node, j);
            if (saved && !is_output[saved - recording->block] && saved->phase == MT_PHASE_FORWARD &&
                saved->maker && saved->category == MT_CATEGORY_ACTIVATIONS &&
                saved->stack != output->stack)
                is_made[saved - recording->block] = true;
        }
    }
    free(is_output);
    return is_made;
}

uint64_t mt_sum_begins(const struct mt_recording *recording, const struct mt_recorded_node *node)
{
    const struct mt_recorded_block *last = NULL, *before = NULL;
    for (size_t i = mt_first_made(recording, node->begin);
         i < recording->n && recording->block[i].begin < node->end; i++)
        if (recording->block[i].end > node->end) {
            before = last;
            last = &recording->block[i];
        }
    bool is_linear =
        node->name && strstr(mt_string(recording->definitions, node->name), "AddmmBackward");
    return is_linear && before && last->size <= before->size / 8 ? last->begin : MT_EVER;
}
