/* SPDX-License-Identifier: Apache-2.0 */
#include "classify.h"
#include "marks.h"

const struct mt_category_info mt_categories[MT_CATEGORY_COUNT] = {
#define ROW(id, name, label, colour) {name, label, colour},
    MT_CATEGORIES(ROW)
#undef ROW
};

/* A rule: its condition over `block`, `context` and the block's `evidence`. */
#define CONDITION(id, condition)                                                                   \
    static int id(const struct mt_rule_context *context, const struct mt_block *block)             \
    {                                                                                              \
        uint32_t evidence = block->evidence;                                                       \
        (void)context;                                                                             \
        (void)evidence;                                                                            \
        return (condition) != 0;                                                                   \
    }

static uint32_t phase(const struct mt_rule_context *context, uint32_t stack)
{
    return mt_stack(context->definitions, stack)->phase;
}

static uint32_t marks(const struct mt_rule_context *context, uint32_t stack)
{
    return mt_stack(context->definitions, stack)->marks;
}

/* A tensor that was detached from the graph to begin a new one (checkpointing) is a leaf as well,
 * but no parameter. */
static int true_leaf(uint32_t evidence)
{
    return (evidence & (MT_SAW_LEAF | MT_SAW_LEAF_OF_GRAPH)) == MT_SAW_LEAF;
}

/* Where the operator that saves the tensor also made it, as a mask or a mean for itself, or where
 * a module did. */
static int made_to_be_saved(const struct mt_rule_context *context, const struct mt_block *block)
{
    return (block->stack && block->stack == block->save_stack) || block->node_name ||
           phase(context, block->stack) & MT_MARK_MODULE_CALL;
}

CONDITION(is_parameter, evidence & MT_SAW_PARAMETER)
CONDITION(is_buffer, evidence & MT_SAW_BUFFER)
CONDITION(is_gradient, evidence & MT_SAW_GRADIENT)
CONDITION(is_data, evidence & MT_SAW_SET_DATA)
CONDITION(is_leaf_again, true_leaf(evidence) && evidence & MT_SAW_LEAF_AGAIN)
CONDITION(is_leaf_for_long, true_leaf(evidence) && evidence & MT_SAW_LATER_STEP)
/* Older PyTorch does not say which tensors are parameters: then leaves are. */
CONDITION(is_leaf, true_leaf(evidence) && !context->saw_parameters)
CONDITION(is_leaf_input, true_leaf(evidence) && context->saw_parameters)
/* These two are "what is left in a module": that needs to know its parameters. */
CONDITION(was_moved, context->saw_parameters && phase(context, block->stack) & MT_MARK_MODULE_APPLY)
CONDITION(was_constructed,
          context->saw_parameters && phase(context, block->stack) & MT_MARK_MODULE_INIT)
CONDITION(has_grad_fn, evidence & MT_SAW_GRAPH_OUTPUT)
CONDITION(survived_step, evidence & MT_SAW_STEP_SURVIVED)
CONDITION(died_in_step, evidence & MT_SAW_STEP_DIED)
/* The trace ends inside the step. */
CONDITION(made_as_state, block->step && marks(context, block->stack) & MT_MARK_OPTIMIZER_INIT)
CONDITION(in_open_step, block->step)
CONDITION(in_backward, block->node_name && !(evidence & (MT_SAW_SAVED | MT_SAW_LATER_STEP)))
CONDITION(saved_by_maker, evidence & MT_SAW_SAVED && made_to_be_saved(context, block))
CONDITION(saved, evidence & MT_SAW_SAVED)
CONDITION(always, 1)

const struct mt_rule mt_rules[] = {
    {"wrapped in nn.Parameter", MT_CATEGORY_PARAMETERS, is_parameter},
    {"wrapped in nn.Buffer", MT_CATEGORY_BUFFERS, is_buffer},
    {"kept as a leaf's gradient", MT_CATEGORY_GRADIENTS, is_gradient},
    {"became a tensor's data", MT_CATEGORY_PARAMETERS, is_data},
    {"leaf of several graphs", MT_CATEGORY_PARAMETERS, is_leaf_again},
    {"leaf that outlived an optimizer step", MT_CATEGORY_PARAMETERS, is_leaf_for_long},
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
