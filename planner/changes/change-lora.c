/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LoRA: adapters for the linear layers of all numbered layers; nothing else is trained. Their
 * products use a library's workspace as others do.
 */
#include "analyzer/support/to-integer.h"
#include "kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RANK_MOST 65536u
#define AT_ONCE 4u /* events: one call's allocation and free */

struct lora {
    struct mt_edits *edits;
    uint64_t rank;
    double states;      /* bytes of state per byte of parameters */
    double adapters;    /* bytes of them */
    uint64_t workspace; /* bytes: the largest workspace of a product */
    bool *is_linear;    /* by block */
};

static bool is_product(const struct mt_recording *recording, uint32_t name)
{
    const char *text = mt_string(recording->definitions, name);
    return strstr(text, "AddmmBackward") || strstr(text, "11MmBackward") ||
           strstr(text, "LinearBackward");
}

/* Find the linear layers: a parameter that a product saves is a weight. */
static void find_linear(struct lora *lora)
{
    const struct mt_recording *recording = lora->edits->recording;
    for (size_t i = 0; i < recording->n_nodes; i++) {
        const struct mt_recorded_node *node = &recording->node[i];
        if (!mt_layer_size(mt_recorded_module(recording, node->module)) ||
            !is_product(recording, node->name))
            continue;
        for (uint32_t j = 0; j < node->n_saves; j++) {
            const struct mt_recorded_block *block = mt_node_save(recording, node, j);
            if (block && mt_is_trained(block))
                lora->is_linear[block - recording->block] = true;
        }
    }
}

/* Return the state per parameter that the optimizer keeps now. */
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

/* Return the largest workspace that was freed at once. */
static uint64_t workspace_of(const struct mt_recording *recording)
{
    uint64_t most = 0;
    for (size_t i = 0; i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        if (block->category == MT_CATEGORY_WORKSPACE && block->end <= block->begin + AT_ONCE &&
            block->size > most)
            most = block->size;
    }
    return most;
}

/* Add the adapters of a weight that is about as long as it is wide. */
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
        uint64_t bytes = mt_to_uint64(side * (double)lora->rank * width);
        uint64_t begin = mt_moment_of(block->begin), end = mt_moment_of(block->end);
        lora->adapters += 2 * (double)bytes;
        for (unsigned j = 0; j < 2; j++) {
            mt_edits_add(lora->edits, begin, end, bytes);
            mt_edits_add(lora->edits, step, end, mt_to_uint64((double)bytes * lora->states));
        }
    }
}

/* Return whether a layer is adapted. The first layer's weight is not saved, since its input needs
 * no gradient. */
static bool is_adapted(const struct lora *lora, const struct mt_recorded_node *node)
{
    const struct mt_recording *recording = lora->edits->recording;
    return is_product(recording, node->name) &&
           mt_layer_size(mt_recorded_module(recording, node->module));
}

/* Return the size between an adapter's two products: a row for each input row, with a value per
 * rank; 0: weight or input was not saved. */
static uint64_t between(const struct lora *lora, const struct mt_recorded_node *node,
                        const struct mt_recorded_block *output)
{
    const struct mt_recording *recording = lora->edits->recording;
    double weight = 0, input = 0, width = mt_recorded_width(output);
    for (uint32_t i = 0; i < node->n_saves; i++) {
        const struct mt_recorded_block *saved = mt_node_save(recording, node, i);
        if (saved && lora->is_linear[saved - recording->block])
            weight = (double)mt_recorded_elements(saved);
        else if (saved)
            input = (double)saved->size / mt_recorded_width(saved);
    }
    double rows = weight > 0 ? sqrt(input * ((double)output->size / width) / weight) : 0;
    return (uint64_t)(rows * (double)lora->rank * width);
}

/* Add the adapter's products and gradient, as large as the layer's own, to which they are added. */
static void add_products(struct lora *lora)
{
    const struct mt_recording *recording = lora->edits->recording;
    for (size_t i = 0; i < recording->n_nodes; i++) {
        const struct mt_recorded_node *node = &recording->node[i];
        const struct mt_recorded_block *output = mt_recorded_at(recording, node->output);
        if (!output || !is_adapted(lora, node))
            continue;
        uint64_t made = mt_moment_of(node->made),
                 now = lora->edits->block[output - recording->block].size;
        mt_edits_add_as(lora->edits, MT_ADDED_SAVED, made,
                        mt_moment_of(node->end ? node->end : node->made + 1),
                        between(lora, node, output) * now / output->size);
        mt_edits_add(lora->edits, made + 1, made + 3, now);
        mt_edits_add(lora->edits, made + 1, made + 2, lora->workspace);
        mt_edits_add(lora->edits, made + 2, made + 3, now);
        if (node->begin)
            mt_edits_add(lora->edits, mt_moment_of(node->begin) - 3, mt_moment_of(node->begin) - 1,
                         now);
    }
}

/* Return whether the node saves what it multiplies with a weight only for the weight's gradient. */
static bool is_for_weight(const struct lora *lora, const struct mt_recorded_node *node)
{
    const struct mt_recording *recording = lora->edits->recording;
    bool has_weight = false;
    if (!is_product(recording, node->name) &&
        !strstr(mt_string(recording->definitions, node->name), "MulBackward"))
        return false;
    for (uint32_t i = 0; i < node->n_saves; i++) {
        const struct mt_recorded_block *saved = mt_node_save(recording, node, i);
        has_weight |= saved && mt_is_trained(saved);
    }
    return has_weight;
}

enum { IS_SAVED = 1, IS_LEFT = 2 };

/* Mark what nodes still save. Nodes before the first adapter of a forward, which need no gradient,
 * save nothing; others no longer save what only the gradient of a frozen weight needs. */
static void find_saved(const struct lora *lora, unsigned char *saves)
{
    const struct mt_recording *recording = lora->edits->recording;
    uint64_t backward = MT_EVER; /* of this forward */
    bool is_reached = false;
    for (size_t i = 0; i < recording->n_nodes; i++) {
        const struct mt_recorded_node *node = &recording->node[i];
        bool adapts = is_adapted(lora, node);
        if (node->made > backward) {
            backward = MT_EVER;
            is_reached = false;
        }
        if (node->begin && node->begin < backward)
            backward = node->begin;
        is_reached |= adapts;
        unsigned char mark =
            !is_reached || (!adapts && is_for_weight(lora, node)) ? IS_LEFT : IS_SAVED;
        for (uint32_t j = 0; j < node->n_saves; j++) {
            const struct mt_recorded_block *saved = mt_node_save(recording, node, j);
            if (saved)
                saves[saved - recording->block] |= mark;
        }
    }
}

/* End blocks that nothing saves any more. Return 0 or -ENOMEM. */
static int end_unsaved(struct lora *lora)
{
    const struct mt_recording *recording = lora->edits->recording;
    unsigned char *saves = calloc(recording->n + 1, 1);
    if (!saves)
        return -ENOMEM;
    find_saved(lora, saves);
    for (size_t i = 0; i < recording->n; i++)
        if (saves[i] == IS_LEFT)
            mt_end_unsaved(lora->edits, i);
    free(saves);
    return 0;
}

/* Add the adapters' gradients, with the lifetimes of the gradients that are frozen now. */
static void add_gradients(struct lora *lora)
{
    const struct mt_recording *recording = lora->edits->recording;
    double trained = 0;
    for (size_t i = 0; i < recording->n; i++)
        trained += mt_is_trained(&recording->block[i]) ? (double)lora->edits->block[i].size : 0;
    for (size_t i = 0; trained > 0 && i < recording->n; i++) {
        struct mt_edit gradient = lora->edits->block[i]; /* adding an edit moves them */
        if (recording->block[i].category == MT_CATEGORY_GRADIENTS)
            mt_edits_add(lora->edits, gradient.begin, gradient.end,
                         (uint64_t)((double)gradient.size * lora->adapters / trained));
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
    if (recording->n_nodes && !mt_knows_operators(recording)) {
        change->why_not = "no backward was recorded, so operators are unknown";
        return -ENOENT;
    }
    lora.is_linear = calloc(recording->n + 1, sizeof *lora.is_linear);
    if (!lora.is_linear)
        return -ENOMEM;
    find_linear(&lora);
    lora.states = states_of(recording);
    lora.workspace = workspace_of(recording);
    int rc = end_unsaved(&lora);
    add_adapters(&lora);
    add_gradients(&lora);
    for (size_t i = 0; i < recording->n; i++) {
        found |= lora.is_linear[i];
        if (is_of_training(&recording->block[i]))
            mt_drop_block(edits, i);
    }
    add_products(&lora);
    free(lora.is_linear);
    change->why_not = found ? NULL : "no linear layers were seen in numbered modules";
    return rc ? rc : found ? edits->rc : -ENOENT;
}
