/* SPDX-License-Identifier: Apache-2.0 */
#include "block-facts.h"

bool mt_is_kept_by_backward(const struct mt_block *block)
{
    return born(block, MT_PHASE_BACKWARD) && !died_in_phase(block) && !went_to_another(block);
}

#define RULE(id, condition)                                                                        \
    static int id(const struct mt_rule_context *context, const struct mt_block *block)             \
    {                                                                                              \
        (void)context;                                                                             \
        (void)block;                                                                               \
        return (condition);                                                                        \
    }

/* A library may wrap the copies that an optimizer updates, too. No module has them. A graph has
 * none of them, or copies one each back into its parameter. */
RULE(is_wrapped_copy,
     may_be_wrapped_copy(context, block) && (!saw(block, MT_SAW_LEAF) || copy_kind(context, block)))
RULE(is_parameter, saw(block, MT_SAW_PARAMETER))
/* A module may have what a graph made in a parameter's place, for the time of a call (adapted
 * weights, a hypernetwork's): no leaf, an activation. */
RULE(is_modules_parameter, saw(block, MT_SAW_MODULES_PARAMETER) &&
                               (!saw(block, MT_SAW_GRAPH_OUTPUT) || saw(block, MT_SAW_LEAF)))
RULE(is_buffer, saw(block, MT_SAW_BUFFER))
RULE(is_gradient, saw(block, MT_SAW_GRADIENT))
/* The innermost frames show it: Python is not involved, and these two kinds of native frames never
 * call PyTorch. */
RULE(made_by_library, made_under(context, block, MT_MARK_MATH_LIBRARY))
RULE(made_by_nccl, made_under(context, block, MT_MARK_NCCL))
RULE(is_workspace, saw(block, MT_SAW_WORKSPACE) && is_unlabelled(block))
RULE(is_state, saw(block, MT_SAW_STATE))
RULE(is_modules_buffer, saw(block, MT_SAW_MODULES_BUFFER))
/* What a checkpoint has besides the tensors that modules and optimizers keep of it. */
RULE(is_loaded,
     was_loaded(context, block) && is_unlabelled(block) && is_as_large_as_parameter(context, block))
RULE(is_deep_copy, made_under(context, block, MT_MARK_COPY_TENSOR) &&
                       !made_under(context, block, MT_MARK_COPY_DICT) &&
                       !made_in(context, block, MT_MARK_MODULE_INIT) && is_unlabelled(block) &&
                       is_as_large_as_parameter(context, block))
RULE(is_cached_by_autocast,
     born(block, MT_PHASE_FORWARD) && saw(block, MT_SAW_AUTOCAST) && !saw(block, MT_SAW_LEAF))
RULE(made_like_buffer,
     made_like(context, block, MT_SAW_MODULES_BUFFER) && !was_loaded(context, block))
RULE(made_like_state, made_like(context, block, MT_SAW_STATE) && !was_loaded(context, block))
RULE(made_like_gradient, made_like(context, block, MT_SAW_GRADIENT))
RULE(made_like_parameter, mt_block_stands_in(context->definitions, block) &&
                              (!saw(block, MT_SAW_GRAPH_OUTPUT) || saw(block, MT_SAW_LEAF)) &&
                              made_like(context, block, MT_SAW_MODULES_PARAMETER))
/* DeepSpeed makes a graph of its copies while it begins, and never again. */
RULE(is_copy_of_zero, context->trains_copies &&saw(block, MT_SAW_STEPPED) &&
                          !saw(block, MT_SAW_MODULES_PARAMETER) &&
                          made_under(context, block, MT_MARK_ZERO_PARAMETERS))
RULE(is_stepped, saw(block, MT_SAW_STEPPED) && saw(block, MT_SAW_LEAF))
/* Copies of parameters that are elsewhere, in higher precision: one each, a flat one of several, or
 * a rank's part. They are not leaves of the graph. ZeRO's authors and Megatron's count them so. */
RULE(is_stepped_copy,
     saw(block, MT_SAW_STEPPED) && !saw(block, MT_SAW_SET_DATA) && context->saw_parameters)
RULE(is_stepped_alone, saw(block, MT_SAW_STEPPED) && !saw(block, MT_SAW_SET_DATA))
RULE(is_data, saw(block, MT_SAW_SET_DATA))
RULE(is_leaf_again, true_leaf(block) && saw(block, MT_SAW_LEAF_AGAIN) && !context->saw_stepped)
/* Outliving a step would show nothing: the last iteration's inputs do too. Older PyTorch does not
 * say which tensors are parameters: then leaves are. */
RULE(is_leaf, true_leaf(block) && !context->saw_parameters && !context->saw_stepped)
RULE(is_leaf_input, true_leaf(block) && (context->saw_parameters || context->saw_stepped))
RULE(is_from_before, mt_is_from_before(context->definitions, block->stack))
RULE(made_by_optimizer, !block->birth->step && made_under(context, block, MT_MARK_OPTIMIZER_INIT))
/* The other tensors of a module: first where its parameters are known, then where they are not. */
RULE(was_moved, context->saw_parameters &&made_in(context, block, MT_MARK_MODULE_APPLY))
RULE(was_constructed, context->saw_parameters &&made_in(context, block, MT_MARK_MODULE_INIT))
RULE(was_copied, made_under(context, block, MT_MARK_COPY_DICT) &&
                     made_under(context, block, MT_MARK_COPY_TENSOR) &&
                     !made_in(context, block, MT_MARK_MODULE_INIT))
/* Module._apply moves parameters first, and buffers by a line further down. */
RULE(was_moved_as_buffer, !context->saw_parameters &&
                              made_in(context, block, MT_MARK_MODULE_APPLY) &&
                              apply_line(context, block) > context->first_apply_line)
RULE(was_moved_unlabelled, made_in(context, block, MT_MARK_MODULE_APPLY))
RULE(was_constructed_unlabelled, made_in(context, block, MT_MARK_MODULE_INIT))
RULE(has_grad_fn, saw(block, MT_SAW_GRAPH_OUTPUT))
/* What its methods need for a moment is not kept; what goes with the call in which memory ran out
 * was. In training, a graph has what the cache has. */
RULE(is_kept_by_cache,
     saw(block, MT_SAW_OF_CACHE) && !saw(block, MT_SAW_SAVED) &&
         (!passed_in_phase(block) ||
          (context->tracker && context->tracker->full == block->birth->when.epoch + 1)))
RULE(is_pool_of_cache, made_under(context, block, MT_MARK_CACHE) && !passed_in_phase(block))
RULE(is_kept_by_server, made_outside(block) && is_unlabelled(block) && !died_in_phase(block) &&
                            made_under(context, block, MT_MARK_SERVER))
/* A sampler's tensors belong to no module: those it keeps are logits, also with less likely tokens
 * removed, and the tokens that it chose. */
RULE(is_of_sampler, made_outside(block) && is_unlabelled(block) &&
                        is_from_caller(context, block, MT_MARK_SAMPLING))
RULE(is_passing_in_sampler, is_of_sampler(context, block) && died_in_phase(block))
/* Backward, or a hook of it, puts it at a module or a parameter, until the next one replaces it: a
 * gradient per sample, its norm, a curvature of the loss. What stays longer is a table or an
 * average. */
RULE(is_kept_from_backward,
     mt_block_is_backwards(context->definitions, block) &&
         !saw(block, MT_SAW_SAVED | MT_SAW_ATTRIBUTE_LATER) &&
         (saw(block, MT_SAW_ATTRIBUTE) || is_line_of(context, block, MT_SAW_ATTRIBUTE)))
RULE(survived_step, saw(block, MT_SAW_STEP_SURVIVED))
/* A step may call a closure, which trains: what is saved there is data or an activation. */
RULE(died_in_step, saw(block, MT_SAW_STEP_DIED) && !saw(block, MT_SAW_SAVED))
/* For these two the trace ends inside the step. */
RULE(made_as_state, (block->birth->step) && made_under(context, block, MT_MARK_OPTIMIZER_INIT))
RULE(in_open_step, block->birth->step && !saw(block, MT_SAW_SAVED))
RULE(is_gradient_copy, copy_kind(context, block) && block->birth->when.after == MT_PHASE_BACKWARD &&
                           mt_block_ended(block)->backwards == block->birth->when.backwards)
/* Copies that an optimizer keeps for one more backward (SAM); averages are made after steps. */
RULE(is_put_aside, copy_kind(context, block) && block->birth->when.after == MT_PHASE_BACKWARD)
RULE(is_master, copy_kind(context, block) == MT_WIDER_COPY)
/* Optimizers of PyTorch's kind keep their state themselves; without one, this is a hand-written
 * optimizer's state. */
RULE(is_average, copy_kind(context, block) && context->saw_steps)
RULE(is_own_state, copy_kind(context, block))
/* param.clone().detach(): the clone was an output of a graph. */
RULE(is_detached_average,
     may_be_detached(context, block) && context->saw_steps && copy_kind(context, block))
RULE(was_gathered, is_unlabelled(block) && made_under(context, block, MT_MARK_GATHER))
RULE(is_master_of_zero, is_unlabelled(block) && is_from(context, block, MT_MARK_ZERO_MASTERS))
RULE(is_of_zero, is_unlabelled(block) && made_under(context, block, MT_MARK_ZERO_PARAMETERS))
RULE(is_gradient_of_zero,
     is_unlabelled(block) && made_under(context, block, MT_MARK_ZERO_GRADIENTS))
/* The first ones are made in DDP's constructor, which is a module's. */
RULE(is_bucket, is_unlabelled(block) && is_from(context, block, MT_MARK_BUCKETS))
RULE(is_bucket_of_gradients, context->lacks_gradients &&is_bucket(context, block))
/* Of several, one has the gradients, and the others are an optimizer's: which is which changes no
 * sum. */
RULE(is_flat_gradient, context->lacks_gradients &&is_flat(context, block) &&
                           mt_block_event(block) == context->first_flat)
RULE(is_flat_state, !context->saw_steps && is_flat(context, block))
/* Without an optimizer of PyTorch's kind, the program's own one works after backward. Batches that
 * are fetched ahead live for an iteration or two. */
RULE(is_made_in_own_step, !context->saw_steps && made_outside(block) && is_unlabelled(block) &&
                              block->birth->when.after == MT_PHASE_BACKWARD &&
                              mt_block_ended(block)->backwards > block->birth->when.backwards + 2)
/* Its own state is made before the first backward, perhaps in other sizes than the parameters'. */
RULE(is_of_own_stepper,
     !context->saw_steps && made_outside(block) && is_unlabelled(block) &&
         !block->birth->when.backwards && mt_block_ended(block)->backwards > 2 &&
         context->tracker &&
         mt_steppers_made(&context->tracker->steppers, context->definitions, block->stack))
/* A rank's part of a gradient, after a sum over the ranks (reduce-scatter). */
RULE(is_scattered_gradient,
     is_unlabelled(block) && born(block, MT_PHASE_BACKWARD) && !died_in_phase(block) &&
         mt_block_ended(block)->backwards <= block->birth->when.backwards + 1 &&
         is_from(context, block, MT_MARK_COMMUNICATION))
RULE(is_communication, is_unlabelled(block) && is_from(context, block, MT_MARK_COMMUNICATION))
RULE(is_scratch, is_from(context, block, MT_MARK_SCRATCH))
RULE(is_hooked_gradient, saw(block, MT_SAW_LEAF_HOOK) && is_unlabelled(block))
RULE(in_backward,
     born(block, MT_PHASE_BACKWARD) && died_in_phase(block) && !saw(block, MT_SAW_SAVED))
/* A tensor that a module keeps from iteration to iteration, or is still to when the trace ends. */
RULE(is_kept_attribute, saw(block, MT_SAW_ATTRIBUTE_LATER))
RULE(is_attribute, saw(block, MT_SAW_ATTRIBUTE) && made_outside(block) && !saw(block, MT_SAW_END))
/* Activations are saved before the next backward, and freed by it. */
RULE(saved_for_several,
     saw(block, MT_SAW_SAVED_LATER) && !block->node_name && made_to_be_saved(context, block))
/* An optimizer that steps in backward splits one backward into several: so require another
 * forward. */
RULE(there_for_several, born(block, MT_PHASE_FORWARD) && saw(block, MT_SAW_LATER_STEP) &&
                            mt_block_ended(block)->backwards > block->birth->when.backwards + 3 &&
                            mt_block_ended(block)->calls > block->birth->when.calls + 1)
/* Where nothing is trained. The first part of a cache that grows call by call is among these. */
RULE(there_since_first, born(block, MT_PHASE_FORWARD) && is_unlabelled(block) &&
                            !has_trained(context) && !mt_block_ended(block)->backwards &&
                            block->birth->when.calls <= 1 && mt_block_ended(block)->calls > 3)
RULE(saved_by_maker, saw(block, MT_SAW_SAVED) && made_to_be_saved(context, block))
RULE(saved_by_call, saw(block, MT_SAW_SAVED) && made_in_saving_call(context, block))
RULE(saved, saw(block, MT_SAW_SAVED))
/* A sparse gradient has no storage that a label could name: its indices and values have. Hooks run
 * with Python's frames. */
RULE(is_accumulated,
     born(block, MT_PHASE_BACKWARD) && !died_in_phase(block) && block->node_name &&
         !python_stack(context, block) &&
         strstr(mt_string(context->definitions, block->node_name), "AccumulateGrad"))
/* Not a leaf's gradient, and no later backward replaces it: a hook or a library keeps it. */
RULE(kept_ever_after, born(block, MT_PHASE_BACKWARD) && context->saw_gradients &&
                          block->node_name &&
                          mt_block_ended(block)->backwards > block->birth->when.backwards + 1)
RULE(outlived_backward, born(block, MT_PHASE_BACKWARD) && !died_in_phase(block) &&
                            (mt_block_ended(block)->phase != MT_PHASE_BACKWARD ||
                             mt_block_ended(block)->backwards > block->birth->when.backwards))
/* The sum of several micro-batches, which DDP and FSDP take over in the last one's backward.
 * Otherwise gradients are freed outside backward, and this is a gradient of a gradient: a result of
 * autograd.grad() may be part of a loss. */
RULE(went_through_forward, !context->saw_gradients && context->is_distributed &&
                               went_to_another(block) && saw_forward_begin(block))
RULE(went_to_another_backward, went_to_another(block))
/* Where no module moved or made them: stacked parameters, or a checkpoint's. */
RULE(is_like_gradient, context->lacks_parameters &&made_outside(block) &&
                           mt_block_ended(block)->backwards > block->birth->when.backwards + 1 &&
                           is_as_large_as_gradient(context, block))
RULE(began_backward,
     born(block, MT_PHASE_BACKWARD) && made_under(context, block, MT_MARK_FIRST_GRADIENT))
RULE(in_open_backward, born(block, MT_PHASE_BACKWARD))
RULE(in_forward, born(block, MT_PHASE_FORWARD) && died_in_phase(block))
/* Kept until the next forward replaces it. The program's own tensors end after forward, activations
 * in backward. What is as large as a gradient is a weight that forward made of a parameter
 * (spectral norm), an output of a graph. */
RULE(kept_by_module, saw(block, MT_SAW_END) && born(block, MT_PHASE_FORWARD) &&
                         mt_block_ended(block)->phase == MT_PHASE_FORWARD &&
                         !context->saw_parameters && !is_as_large_as_gradient(context, block) &&
                         mt_block_ended(block)->backwards > block->birth->when.backwards)
RULE(outlived_forward, born(block, MT_PHASE_FORWARD))
/* Losses and similar tensors, where autograd does not label them. */
RULE(went_to_backward, made_outside(block) && !context->saw_parameters &&
                           block->birth->when.after == MT_PHASE_FORWARD &&
                           mt_block_ended(block)->backwards > block->birth->when.backwards)
RULE(is_input, made_outside(block) && saw_forward_begin(block))
/* A store of the program's: a replay buffer, keys and values. What runs again after a forward
 * makes batches. A forward may have several backwards. */
RULE(is_persistent, is_input(context, block) && is_unlabelled(block) && !block->birth->when.calls &&
                        mt_block_ended(block)->calls > 2 &&
                        (!has_trained(context) || mt_block_ended(block)->backwards > 2) &&
                        context->tracker &&
                        !mt_address_map_get(&context->tracker->again, python_stack(context, block)))
/* A program's own sampling, and what else it does with results. Training has batches and losses
 * there. */
RULE(passed_after_forward, made_outside(block) && is_unlabelled(block) && died_in_phase(block) &&
                               block->birth->when.calls && !has_trained(context))
RULE(always, 1)

const struct mt_rule mt_rules[] = {
    {"updated by an optimizer instead of a module's parameters", MT_CATEGORY_OPTIMIZER_STATE,
     MT_LIKELY, is_wrapped_copy},
    {"wrapped in nn.Parameter", MT_CATEGORY_PARAMETERS, MT_CERTAIN, is_parameter},
    {"one of a module's parameters", MT_CATEGORY_PARAMETERS, MT_CERTAIN, is_modules_parameter},
    {"wrapped in nn.Buffer", MT_CATEGORY_BUFFERS, MT_CERTAIN, is_buffer},
    {"kept as a leaf's gradient", MT_CATEGORY_GRADIENTS, MT_CERTAIN, is_gradient},
    {"held by a key-value cache", MT_CATEGORY_KV_CACHE, MT_CERTAIN, is_kept_by_cache},
    {"one of a module's buffers", MT_CATEGORY_BUFFERS, MT_CERTAIN, is_modules_buffer},
    {"passed to cuBLAS, cuDNN or a similar library", MT_CATEGORY_WORKSPACE, MT_CERTAIN,
     is_workspace},
    {"in an optimizer's state", MT_CATEGORY_OPTIMIZER_STATE, MT_CERTAIN, is_state},
    {"allocated by NCCL", MT_CATEGORY_COMMUNICATION, MT_LIKELY, made_by_nccl},
    {"allocated by cuBLAS, cuDNN or a similar library", MT_CATEGORY_WORKSPACE, MT_LIKELY,
     made_by_library},
    {"allocated by DeepSpeed ZeRO, updated by an optimizer instead of parameters",
     MT_CATEGORY_OPTIMIZER_STATE, MT_LIKELY, is_copy_of_zero},
    {"leaf updated by an optimizer", MT_CATEGORY_PARAMETERS, MT_CERTAIN, is_stepped},
    {"updated by an optimizer instead of parameters", MT_CATEGORY_OPTIMIZER_STATE, MT_LIKELY,
     is_stepped_copy},
    {"updated by an optimizer", MT_CATEGORY_PARAMETERS, MT_LIKELY, is_stepped_alone},
    {"assigned to a tensor's .data", MT_CATEGORY_PARAMETERS, MT_CERTAIN, is_data},
    {"leaf of several graphs", MT_CATEGORY_PARAMETERS, MT_LIKELY, is_leaf_again},
    {"leaf", MT_CATEGORY_PARAMETERS, MT_LIKELY, is_leaf},
    {"allocated before the recording, and nothing known holds it", MT_CATEGORY_OTHER, MT_GUESS,
     is_from_before},
    {"loaded from a checkpoint, as large as a parameter", MT_CATEGORY_COPIES, MT_GUESS, is_loaded},
    {"copied by copy.deepcopy, as large as a parameter", MT_CATEGORY_COPIES, MT_LIKELY,
     is_deep_copy},
    {"16-bit copy of a parameter, cached by autocast", MT_CATEGORY_COPIES, MT_LIKELY,
     is_cached_by_autocast},
    {"allocated where a module's parameter was before", MT_CATEGORY_PARAMETERS, MT_LIKELY,
     made_like_parameter},
    {"leaf that is not a parameter", MT_CATEGORY_INPUTS, MT_LIKELY, is_leaf_input},
    {"allocated in an optimizer's constructor", MT_CATEGORY_OPTIMIZER_STATE, MT_LIKELY,
     made_by_optimizer},
    {"allocated where a module's buffer was before", MT_CATEGORY_BUFFERS, MT_LIKELY,
     made_like_buffer},
    {"allocated where an optimizer's state was before", MT_CATEGORY_OPTIMIZER_STATE, MT_LIKELY,
     made_like_state},
    {"allocated where a leaf's gradient was before", MT_CATEGORY_GRADIENTS, MT_LIKELY,
     made_like_gradient},
    {"allocated by DDP, and backward keeps no gradients", MT_CATEGORY_GRADIENTS, MT_GUESS,
     is_bucket_of_gradients},
    {"allocated by DDP for its buckets", MT_CATEGORY_COMMUNICATION, MT_LIKELY, is_bucket},
    {"scratch buffer that a library reuses", MT_CATEGORY_WORKSPACE, MT_LIKELY, is_scratch},
    {"moved with its module, not a parameter", MT_CATEGORY_BUFFERS, MT_LIKELY, was_moved},
    {"allocated in a module's constructor, not a parameter", MT_CATEGORY_BUFFERS, MT_LIKELY,
     was_constructed},
    {"copied with its module, not a parameter", MT_CATEGORY_BUFFERS, MT_LIKELY, was_copied},
    {"moved with its module, by the line that moves buffers", MT_CATEGORY_BUFFERS, MT_LIKELY,
     was_moved_as_buffer},
    {"moved with its module", MT_CATEGORY_PARAMETERS, MT_LIKELY, was_moved_unlabelled},
    {"allocated in a module's constructor", MT_CATEGORY_PARAMETERS, MT_LIKELY,
     was_constructed_unlabelled},
    {"one per parameter, detached from its graph", MT_CATEGORY_COPIES, MT_GUESS,
     is_detached_average},
    {"has a grad_fn", MT_CATEGORY_ACTIVATIONS, MT_CERTAIN, has_grad_fn},
    {"allocated in backward, kept by a module or a parameter", MT_CATEGORY_GRADIENTS, MT_LIKELY,
     is_kept_from_backward},
    {"allocated by vLLM for keys and values", MT_CATEGORY_KV_CACHE, MT_LIKELY, is_pool_of_cache},
    {"allocated by vLLM's runner, refilled in each step", MT_CATEGORY_BUFFERS, MT_LIKELY,
     is_kept_by_server},
    {"allocated and freed while sampling tokens", MT_CATEGORY_TEMPORARIES, MT_LIKELY,
     is_passing_in_sampler},
    {"allocated while sampling tokens", MT_CATEGORY_ACTIVATIONS, MT_LIKELY, is_of_sampler},
    {"allocated in an optimizer step, outlived it", MT_CATEGORY_OPTIMIZER_STATE, MT_LIKELY,
     survived_step},
    {"allocated and freed in an optimizer step", MT_CATEGORY_TEMPORARIES, MT_LIKELY, died_in_step},
    {"allocated where the optimizer creates its state", MT_CATEGORY_OPTIMIZER_STATE, MT_LIKELY,
     made_as_state},
    {"allocated in an optimizer step that did not end", MT_CATEGORY_TEMPORARIES, MT_GUESS,
     in_open_step},
    {"allocated by FSDP to gather parameters", MT_CATEGORY_PARAMETERS, MT_LIKELY, was_gathered},
    {"allocated by DeepSpeed ZeRO for copies that it updates instead of parameters",
     MT_CATEGORY_OPTIMIZER_STATE, MT_LIKELY, is_master_of_zero},
    {"allocated by DeepSpeed ZeRO for parameters", MT_CATEGORY_PARAMETERS, MT_LIKELY, is_of_zero},
    {"allocated by DeepSpeed ZeRO for gradients", MT_CATEGORY_GRADIENTS, MT_LIKELY,
     is_gradient_of_zero},
    {"as large as all parameters, and backward keeps no gradients", MT_CATEGORY_GRADIENTS, MT_GUESS,
     is_flat_gradient},
    {"as large as all parameters, live for several iterations", MT_CATEGORY_OPTIMIZER_STATE,
     MT_GUESS, is_flat_state},
    {"as large as a gradient, live for several iterations", MT_CATEGORY_PARAMETERS, MT_LIKELY,
     is_like_gradient},
    {"one per parameter, allocated after backward", MT_CATEGORY_GRADIENTS, MT_GUESS,
     is_gradient_copy},
    {"one per parameter, allocated after backward, kept for another", MT_CATEGORY_OPTIMIZER_STATE,
     MT_GUESS, is_put_aside},
    {"one per parameter, in higher precision", MT_CATEGORY_OPTIMIZER_STATE, MT_GUESS, is_master},
    {"one per parameter, next to an optimizer's state", MT_CATEGORY_COPIES, MT_GUESS, is_average},
    {"one per parameter", MT_CATEGORY_OPTIMIZER_STATE, MT_GUESS, is_own_state},
    {"allocated by torch.distributed in backward, outlived it", MT_CATEGORY_GRADIENTS, MT_LIKELY,
     is_scattered_gradient},
    {"allocated to communicate with other ranks", MT_CATEGORY_COMMUNICATION, MT_LIKELY,
     is_communication},
    {"freed by a hook of a leaf's gradient", MT_CATEGORY_GRADIENTS, MT_LIKELY, is_hooked_gradient},
    {"allocated in backward, not kept", MT_CATEGORY_TEMPORARIES, MT_LIKELY, in_backward},
    {"kept by a module as an attribute", MT_CATEGORY_BUFFERS, MT_LIKELY, is_kept_attribute},
    {"attribute of a module, never freed", MT_CATEGORY_BUFFERS, MT_GUESS, is_attribute},
    {"allocated in forward, saved for several backwards", MT_CATEGORY_BUFFERS, MT_LIKELY,
     saved_for_several},
    {"allocated in forward, live in several backwards", MT_CATEGORY_BUFFERS, MT_GUESS,
     there_for_several},
    {"allocated in the first forward, live in later ones", MT_CATEGORY_BUFFERS, MT_GUESS,
     there_since_first},
    {"saved for backward where it was allocated", MT_CATEGORY_ACTIVATIONS, MT_CERTAIN,
     saved_by_maker},
    {"allocated and saved for backward in one library call", MT_CATEGORY_ACTIVATIONS, MT_LIKELY,
     saved_by_call},
    {"saved for backward, allocated elsewhere", MT_CATEGORY_INPUTS, MT_LIKELY, saved},
    {"allocated where a leaf's gradient accumulates, outlived it", MT_CATEGORY_GRADIENTS, MT_LIKELY,
     is_accumulated},
    {"allocated in a distributed backward, freed in a later one", MT_CATEGORY_GRADIENTS, MT_GUESS,
     went_through_forward},
    {"allocated in backward, freed in another one", MT_CATEGORY_ACTIVATIONS, MT_GUESS,
     went_to_another_backward},
    {"allocated in backward, never freed", MT_CATEGORY_OTHER, MT_GUESS, kept_ever_after},
    {"initial gradient of a backward", MT_CATEGORY_TEMPORARIES, MT_LIKELY, began_backward},
    {"allocated in backward, outlived it", MT_CATEGORY_GRADIENTS, MT_GUESS, outlived_backward},
    {"allocated in a backward that did not end", MT_CATEGORY_TEMPORARIES, MT_GUESS,
     in_open_backward},
    {"allocated and freed in forward", MT_CATEGORY_TEMPORARIES, MT_LIKELY, in_forward},
    {"allocated in forward, freed in a later one", MT_CATEGORY_BUFFERS, MT_GUESS, kept_by_module},
    {"allocated in forward, outlived it", MT_CATEGORY_ACTIVATIONS, MT_GUESS, outlived_forward},
    {"allocated after forward, live in backward", MT_CATEGORY_ACTIVATIONS, MT_GUESS,
     went_to_backward},
    {"allocated after backward, live for several iterations", MT_CATEGORY_OPTIMIZER_STATE, MT_GUESS,
     is_made_in_own_step},
    {"allocated by code that runs after each backward", MT_CATEGORY_OPTIMIZER_STATE, MT_GUESS,
     is_of_own_stepper},
    {"allocated before the first forward, live in several", MT_CATEGORY_PERSISTENT, MT_GUESS,
     is_persistent},
    {"allocated outside modules, live in forward", MT_CATEGORY_INPUTS, MT_GUESS, is_input},
    {"allocated and freed after a forward", MT_CATEGORY_TEMPORARIES, MT_GUESS,
     passed_after_forward},
    {"no evidence", MT_CATEGORY_OTHER, MT_GUESS, always},
};

const size_t mt_n_rules = sizeof mt_rules / sizeof *mt_rules;

bool mt_rule_is_master(const struct mt_rule *rule)
{
    return rule->holds == is_master || rule->holds == is_stepped_copy ||
           rule->holds == is_wrapped_copy || rule->holds == is_copy_of_zero ||
           rule->holds == is_master_of_zero;
}

bool mt_rule_lets_copy(const struct mt_rule *rule)
{
    return rule->certainty == MT_GUESS || rule->holds == is_kept_attribute || rule->holds == saved;
}
