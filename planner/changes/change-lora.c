/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LoRA: adapters beside the linear layers of all layers that are numbered; nothing else is trained.
 */
#include "kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RANK_MOST 65536u

struct lora {
    struct mt_edits *edits;
    uint64_t rank;
    double states;   /* bytes of state for a byte of parameters */
    bool *is_linear; /* by block */
};

static bool is_product(const struct mt_recording *recording, uint32_t name)
{
    const char *text = mt_string(recording->definitions, name);
    return strstr(text, "AddmmBackward") || strstr(text, "11MmBackward") ||
           strstr(text, "LinearBackward");
}

/* Weights are what products save that is a parameter. */
static void find_linear(struct lora *lora)
{
    const struct mt_recording *recording = lora->edits->recording;
    for (size_t i = 0; i < recording->n_nodes; i++) {
        const struct mt_recorded_node *node = &recording->node[i];
        if (!mt_layer_size(mt_recorded_module(recording, node->module)) ||
            !is_product(recording, node->name))
            continue;
        for (uint32_t j = 0; j < node->n_saves; j++) {
            const struct mt_recorded_block *block =
                mt_recorded_at(recording, recording->save[node->first_save + j]);
            if (block && mt_is_trained(block))
                lora->is_linear[block - recording->block] = true;
        }
    }
}

/* By what an optimizer keeps now. */
static double states_of(const struct mt_recording *recording)
{
    uint64_t parameters = 0, states = 0;
    for (size_t i = 0; i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        parameters += mt_is_trained(block) && mt_is_kept(recording, block) ? block->size : 0;
        states += block->category == MT_CATEGORY_OPTIMIZER_STATE && !block->is_master &&
                          mt_is_kept(recording, block)
                      ? block->size
                      : 0;
    }
    return parameters ? (double)states / (double)parameters : 0;
}

/* Of a weight that is about as long as it is wide. */
static void add_adapters(struct lora *lora)
{
    const struct mt_recording *recording = lora->edits->recording;
    uint64_t step = recording->n_steps ? mt_moment_of(recording->step[0].begin) : MT_EVER;
    for (size_t i = 0; i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        if (!lora->is_linear[i])
            continue;
        double side = sqrt((double)mt_recorded_elements(block));
        double width = (double)mt_edited_bytes(lora->edits, block) / (side * side);
        uint64_t bytes = (uint64_t)(side * (double)lora->rank * width);
        uint64_t begin = mt_moment_of(block->begin), end = mt_moment_of(block->end);
        for (unsigned j = 0; j < 2; j++) {
            mt_edits_add(lora->edits, begin, end, bytes);
            mt_edits_add(lora->edits, step, end, (uint64_t)((double)bytes * lora->states));
            mt_edits_add(lora->edits, step, end, bytes); /* its gradient */
        }
    }
}

/* The adapter's product is as large as the layer's own, and is added to it; so is its gradient. */
static void add_products(struct lora *lora)
{
    const struct mt_recording *recording = lora->edits->recording;
    for (size_t i = 0; i < recording->n_nodes; i++) {
        const struct mt_recorded_node *node = &recording->node[i];
        const struct mt_recorded_block *output = mt_recorded_at(recording, node->output);
        bool is_adapted = false;
        for (uint32_t j = 0; output && j < node->n_saves; j++) {
            const struct mt_recorded_block *block =
                mt_recorded_at(recording, recording->save[node->first_save + j]);
            is_adapted |= block && lora->is_linear[block - recording->block];
        }
        if (!is_adapted || !is_product(recording, node->name))
            continue;
        uint64_t made = mt_moment_of(node->made),
                 size = lora->edits->block[output - recording->block].size;
        mt_edits_add(lora->edits, made + 1, made + 3, size);
        mt_edits_add(lora->edits, made + 2, made + 3, size);
        if (node->begin)
            mt_edits_add(lora->edits, mt_moment_of(node->begin) - 3, mt_moment_of(node->begin) - 1,
                         size);
    }
}

static bool is_of_training(const struct mt_recorded_block *block)
{
    return block->category == MT_CATEGORY_GRADIENTS ||
           block->category == MT_CATEGORY_OPTIMIZER_STATE ||
           (block->step && block->category == MT_CATEGORY_TEMPORARIES);
}

int mt_change_lora(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    const struct mt_recording *recording = edits->recording;
    struct lora lora = {.edits = edits, .rank = mt_change_number(argument)};
    bool found = false;
    if (!lora.rank || lora.rank > RANK_MOST)
        return -EINVAL;
    lora.is_linear = calloc(recording->n + 1, sizeof *lora.is_linear);
    if (!lora.is_linear)
        return -ENOMEM;
    find_linear(&lora);
    lora.states = states_of(recording);
    for (size_t i = 0; i < recording->n; i++) {
        found |= lora.is_linear[i];
        if (is_of_training(&recording->block[i]))
            mt_drop_block(edits, i);
    }
    add_adapters(&lora);
    add_products(&lora);
    free(lora.is_linear);
    change->why_not = found ? NULL : "no linear layers were seen in numbered modules";
    return found ? edits->rc : -ENOENT;
}
