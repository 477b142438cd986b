/* SPDX-License-Identifier: Apache-2.0 */
#include "classify.h"
#include "marks.h"

const struct mt_category_info mt_categories[MT_CATEGORY_COUNT] = {
#define ROW(id, name, label, colour) {name, label, colour},
    MT_CATEGORIES(ROW)
#undef ROW
};

static int saw(const struct mt_block *block, uint32_t evidence)
{
    return (block->evidence & evidence) != 0;
}

/* Whether the block was allocated in a phase, an enum mt_mark. */
static int made_in(const struct mt_rule_context *context, const struct mt_block *block,
                   uint32_t mark)
{
    return (mt_stack(context->definitions, block->stack)->phase & mark) != 0;
}

static int made_under(const struct mt_rule_context *context, const struct mt_block *block,
                      uint32_t mark)
{
    return (mt_stack(context->definitions, block->stack)->marks & mark) != 0;
}

/* A tensor that was detached from the graph to begin a new one (checkpointing) is a leaf as well,
 * but no parameter. */
static int true_leaf(const struct mt_block *block)
{
    return saw(block, MT_SAW_LEAF) && !saw(block, MT_SAW_LEAF_OF_GRAPH);
}

/* Where the operator that saves the tensor also made it, as a mask or a mean for itself, or where
 * a module did. */
static int made_to_be_saved(const struct mt_rule_context *context, const struct mt_block *block)
{
    uint32_t maker = mt_stack(context->definitions, block->stack)->python;
    return (maker && maker == block->save_stack) || block->node_name ||
           made_in(context, block, MT_MARK_MODULE_CALL);
}

#define RULE(id, condition)                                                                        \
    static int id(const struct mt_rule_context *context, const struct mt_block *block)             \
    {                                                                                              \
        (void)context;                                                                             \
        (void)block;                                                                               \
        return (condition);                                                                        \
    }

RULE(is_parameter, saw(block, MT_SAW_PARAMETER))
RULE(is_buffer, saw(block, MT_SAW_BUFFER))
RULE(is_gradient, saw(block, MT_SAW_GRADIENT))
RULE(is_data, saw(block, MT_SAW_SET_DATA))
RULE(is_leaf_again, true_leaf(block) && saw(block, MT_SAW_LEAF_AGAIN))
/* That it outlived a step would say nothing: the last iteration's inputs do too.
 * Older PyTorch does not say which tensors are parameters: then leaves are. */
RULE(is_leaf, true_leaf(block) && !context->saw_parameters)
RULE(is_leaf_input, true_leaf(block) && context->saw_parameters)
/* These two are "what is left in a module": that needs to know its parameters. */
RULE(was_moved, (context->saw_parameters) && made_in(context, block, MT_MARK_MODULE_APPLY))
RULE(was_constructed, (context->saw_parameters) && made_in(context, block, MT_MARK_MODULE_INIT))
RULE(has_grad_fn, saw(block, MT_SAW_GRAPH_OUTPUT))
RULE(survived_step, saw(block, MT_SAW_STEP_SURVIVED))
RULE(died_in_step, saw(block, MT_SAW_STEP_DIED))
/* These two: the trace ends inside the step. */
RULE(made_as_state, (block->step) && made_under(context, block, MT_MARK_OPTIMIZER_INIT))
RULE(in_open_step, block->step != 0)
RULE(in_backward, (block->node_name || made_in(context, block, MT_MARK_BACKWARD)) &&
                      !saw(block, MT_SAW_SAVED | MT_SAW_LATER_STEP))
RULE(saved_by_maker, saw(block, MT_SAW_SAVED) && made_to_be_saved(context, block))
RULE(saved, saw(block, MT_SAW_SAVED))
RULE(always, 1)

const struct mt_rule mt_rules[] = {
    {"wrapped in nn.Parameter", MT_CATEGORY_PARAMETERS, is_parameter},
    {"wrapped in nn.Buffer", MT_CATEGORY_BUFFERS, is_buffer},
    {"kept as a leaf's gradient", MT_CATEGORY_GRADIENTS, is_gradient},
    {"became a tensor's data", MT_CATEGORY_PARAMETERS, is_data},
    {"leaf of several graphs", MT_CATEGORY_PARAMETERS, is_leaf_again},
    {"leaf", MT_CATEGORY_PARAMETERS, is_leaf},
    {"leaf that is no parameter", MT_CATEGORY_INPUTS, is_leaf_input},
    {"moved with its module, no parameter", MT_CATEGORY_BUFFERS, was_moved},
    {"made in a module's constructor, no parameter", MT_CATEGORY_BUFFERS, was_constructed},
    {"has a grad_fn", MT_CATEGORY_ACTIVATIONS, has_grad_fn},
    {"made in an optimizer step, outlived it", MT_CATEGORY_OPTIMIZER_STATE, survived_step},
    {"made and freed in an optimizer step", MT_CATEGORY_TEMPORARIES, died_in_step},
    {"made where the optimizer makes its state", MT_CATEGORY_OPTIMIZER_STATE, made_as_state},
    {"made in an optimizer step that did not end", MT_CATEGORY_TEMPORARIES, in_open_step},
    {"made in backward, not kept", MT_CATEGORY_TEMPORARIES, in_backward},
    {"saved for backward where it was made", MT_CATEGORY_ACTIVATIONS, saved_by_maker},
    {"saved for backward, made elsewhere", MT_CATEGORY_INPUTS, saved},
    {"no evidence", MT_CATEGORY_OTHER, always},
};

const size_t mt_n_rules = sizeof mt_rules / sizeof *mt_rules;

const struct mt_rule *mt_classify(const struct mt_rule_context *context,
                                  const struct mt_block *block)
{
    const struct mt_rule *rule = mt_rules;
    while (!rule->holds(context, block))
        rule++;
    return rule;
}
