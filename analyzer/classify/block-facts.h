/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions about one block that the rules of rules.c ask: where it was made, what was done with
 * it, when it ended.
 */
#ifndef MT_BLOCK_FACTS_H
#define MT_BLOCK_FACTS_H

#include "classify.h"
#include "trace-format/meaning/marks.h"
#include "tracker.h"

static inline bool saw(const struct mt_block *block, uint32_t evidence)
{
    return (block->evidence & evidence) != 0;
}

/* Return whether the block was allocated in a phase, an enum mt_mark. */
static inline bool made_in(const struct mt_rule_context *context, const struct mt_block *block,
                           uint32_t mark)
{
    return (mt_stack(context->definitions, block->stack)->phase & mark) != 0;
}

static inline bool made_under(const struct mt_rule_context *context, const struct mt_block *block,
                              uint32_t mark)
{
    return (mt_stack(context->definitions, block->stack)->marks & mark) != 0;
}

/* Return whether the block is a leaf that may be a parameter: a tensor that was detached from the
 * graph to begin a new one (checkpointing) is a leaf too. */
static inline bool true_leaf(const struct mt_block *block)
{
    return saw(block, MT_SAW_LEAF) && !saw(block, MT_SAW_LEAF_OF_GRAPH);
}

/* Return whether a module made the tensor that never makes a graph (an augmentation, a frozen
 * encoder, a teacher), and what another module or the program makes of it saved it. */
static inline bool is_from_another(const struct mt_rule_context *context,
                                   const struct mt_block *block)
{
    const char *maker = mt_stack_root(context->definitions, block->stack);
    return maker && context->tracker &&
           maker != mt_stack_root(context->definitions, block->save_stack) &&
           !mt_address_map_get(&context->tracker->trained, mt_root_key(maker));
}

/* Return whether the operator that saves the tensor also made it, as a mask or a mean for itself,
 * or a module did. */
static inline bool made_to_be_saved(const struct mt_rule_context *context,
                                    const struct mt_block *block)
{
    uint32_t maker = mt_stack(context->definitions, block->stack)->python;
    return (maker && maker == block->save_stack) || block->node_name ||
           (made_in(context, block, MT_MARK_MODULE_CALL) && !is_from_another(context, block));
}

/* Return whether the block was made in this phase of the program. */
static inline bool born(const struct mt_block *block, enum mt_phase phase)
{
    return block->birth->when.phase == phase;
}

/* Return whether the block was freed before its phase ended. Nodes of one backward may be
 * interrupted. */
static inline int died_in_phase(const struct mt_block *block)
{
    if (!saw(block, MT_SAW_END))
        return 0;
    return born(block, MT_PHASE_BACKWARD)
               ? mt_block_ended(block)->phase == MT_PHASE_BACKWARD &&
                     mt_block_ended(block)->backwards == block->birth->when.backwards
               : mt_block_ended(block)->epoch == block->birth->when.epoch;
}

/* Return whether the same shows that it was needed for a moment: start-up, which is all of a
 * program that calls no modules, does not. */
static inline bool passed_in_phase(const struct mt_block *block)
{
    return died_in_phase(block) && block->birth->when.after != MT_PHASE_OUTSIDE;
}

static inline bool saw_forward_begin(const struct mt_block *block)
{
    return mt_block_ended(block)->calls > block->birth->when.calls;
}

/* Return whether the program's own code made it outside modules and optimizer steps. */
static inline bool made_outside(const struct mt_block *block)
{
    return born(block, MT_PHASE_OUTSIDE) && !block->birth->step;
}

/* Return whether any backward ran so far. */
static inline bool has_trained(const struct mt_rule_context *context)
{
    return context->tracker && context->tracker->phases.now.backwards;
}

static inline bool is_trained(const struct mt_block *block)
{
    return saw(block, MT_SAW_LEAF);
}

static inline bool is_unlabelled(const struct mt_block *block)
{
    return !saw(block, MT_SAW_SAVED | MT_SAW_GRAPH_OUTPUT | MT_SAW_LEAF | MT_SAW_GRADIENT);
}

/* Allow for rounding, of the block and of many small ones, and for the rest that the allocator
 * leaves in a large block. */
static inline bool is_about(uint64_t size, uint64_t wanted)
{
    uint64_t rounding = wanted / 64;
    return wanted && size >= wanted - rounding &&
           size - wanted + rounding <= 2 * rounding + (wanted > 1u << 20 ? 1u << 20 : 512);
}

/* Return whether the program made one block for all parameters, in their precision or with twice as
 * many bytes, and kept it for several iterations. */
static inline bool is_flat(const struct mt_rule_context *context, const struct mt_block *block)
{
    return made_outside(block) && is_unlabelled(block) &&
           mt_block_ended(block)->backwards > block->birth->when.backwards + 1 &&
           (is_about(block->size, context->parameter_bytes) ||
            is_about(block->size, 2 * context->parameter_bytes));
}

/* Return whether backward keeps gradients of the block's size. */
static inline bool is_as_large_as_gradient(const struct mt_rule_context *context,
                                           const struct mt_block *block)
{
    return context->gradients && mt_equal_sets_has_size(context->gradients, block->size);
}

/* Return whether a parameter, of the trained ones if any is, has the block's size. */
static inline bool is_as_large_as_parameter(const struct mt_rule_context *context,
                                            const struct mt_block *block)
{
    return mt_equal_sets_has_size(&context->copies, block->size);
}

/* Return whether a checkpoint was read into it. */
static inline bool was_loaded(const struct mt_rule_context *context, const struct mt_block *block)
{
    return made_outside(block) && made_under(context, block, MT_MARK_LOAD);
}

/* Return the stack from the innermost Python frame on. */
static inline uint32_t python_stack(const struct mt_rule_context *context,
                                    const struct mt_block *block)
{
    return mt_stack(context->definitions, block->stack)->python;
}

/* Return whether the innermost Python frame has a mark. */
static inline bool is_from(const struct mt_rule_context *context, const struct mt_block *block,
                           uint32_t mark)
{
    return (mt_stack_frame(context->definitions, python_stack(context, block))->marks & mark) != 0;
}

/* Return whether the innermost Python frame that is not PyTorch's has a mark. */
static inline bool is_from_caller(const struct mt_rule_context *context,
                                  const struct mt_block *block, uint32_t mark)
{
    uint32_t stack = python_stack(context, block);
    while (mt_stack_frame(context->definitions, stack)->marks & MT_MARK_FRAMEWORK)
        stack = mt_stack(context->definitions, stack)->parent;
    return (mt_stack_frame(context->definitions, stack)->marks & mark) != 0;
}

/* Return the line of Module._apply that called the function that made the block; 0: it did not. */
static inline uint32_t apply_line(const struct mt_rule_context *context,
                                  const struct mt_block *block)
{
    uint32_t caller = mt_stack(context->definitions, python_stack(context, block))->parent;
    const struct mt_frame *frame = mt_stack_frame(context->definitions, caller);
    return frame->marks & MT_MARK_MODULE_APPLY ? frame->line : 0;
}

/* Return whether the innermost frames of two stacks are of one function, at any line. */
static inline bool is_same_function(const struct mt_definitions *definitions, uint32_t a,
                                    uint32_t b)
{
    const struct mt_frame *one = mt_stack_frame(definitions, a);
    const struct mt_frame *other = mt_stack_frame(definitions, b);
    return !strcmp(one->function, other->function) && !strcmp(one->file, other->file);
}

/* Return the stack that called the innermost function of a library below which the block was made
 * and then saved; 0: there is none, or the program's own code made it there. */
static inline uint32_t call_that_saved(const struct mt_rule_context *context,
                                       const struct mt_block *block)
{
    const struct mt_definitions *d = context->definitions;
    uint32_t make = python_stack(context, block), save = block->save_stack;
    uint32_t maker = 0, saver = 0; /* the callees of what they have in common */
    uint32_t marks = MT_MARK_LIBRARY | MT_MARK_FRAMEWORK;
    while (make != save) {
        if (mt_stack(d, make)->depth < mt_stack(d, save)->depth) {
            saver = save;
            save = mt_stack(d, save)->parent;
        } else if (mt_stack_frame(d, make)->marks & marks) {
            maker = make;
            make = mt_stack(d, make)->parent;
        } else {
            return 0;
        }
    }
    if (maker && saver && is_same_function(d, maker, saver))
        return make;
    return mt_stack_frame(d, make)->marks & marks ? mt_stack(d, make)->parent : 0;
}

/* Return whether one call of a library's function made and saved the block, for no module. What a
 * loop that trains makes is data. */
static inline bool made_in_saving_call(const struct mt_rule_context *context,
                                       const struct mt_block *block)
{
    uint32_t call = 0;
    if (context->tracker && made_outside(block) && block->save_stack &&
        !(mt_stack(context->definitions, block->save_stack)->phase & MT_MARK_MODULE_CALL) &&
        mt_block_ended(block)->backwards <= block->birth->when.backwards + 1)
        call = call_that_saved(context, block);
    return call && !mt_address_map_get(&context->tracker->loops, call);
}

static inline enum mt_copy copy_kind(const struct mt_rule_context *context,
                                     const struct mt_block *block)
{
    return mt_copy_kind(&context->copies, block, python_stack(context, block));
}

static inline bool is_line_of(const struct mt_rule_context *context, const struct mt_block *block,
                              uint32_t evidence)
{
    return context->tracker && !died_in_phase(block) &&
           mt_address_map_get(&context->tracker->lines, mt_line_of(context->definitions, block)) ==
               evidence;
}

/* Return whether a line made the block that had made a block with this evidence before. */
static inline bool made_like(const struct mt_rule_context *context, const struct mt_block *block,
                             uint32_t evidence)
{
    return (born(block, MT_PHASE_OUTSIDE) || born(block, MT_PHASE_FORWARD)) &&
           is_line_of(context, block, evidence);
}

/* Return whether a graph's output that the program made lives on, when its graph is long over. What
 * stands in for a module's parameter is still of a graph (a task's weights, that gradients adapt).
 */
static inline bool may_be_detached(const struct mt_rule_context *context,
                                   const struct mt_block *block)
{
    return saw(block, MT_SAW_GRAPH_OUTPUT) && !saw(block, MT_SAW_SAVED) && made_outside(block) &&
           !saw(block, MT_SAW_MODULES_PARAMETER) &&
           !made_like(context, block, MT_SAW_MODULES_PARAMETER) &&
           mt_block_ended(block)->backwards > block->birth->when.backwards + 1;
}

static inline bool may_be_wrapped_copy(const struct mt_rule_context *context,
                                       const struct mt_block *block)
{
    return context->trains_copies && saw(block, MT_SAW_PARAMETER) && saw(block, MT_SAW_STEPPED) &&
           !saw(block, MT_SAW_MODULES_PARAMETER);
}

static inline bool went_to_another(const struct mt_block *block)
{
    return saw(block, MT_SAW_END) && born(block, MT_PHASE_BACKWARD) &&
           mt_block_ended(block)->phase == MT_PHASE_BACKWARD &&
           mt_block_ended(block)->backwards > block->birth->when.backwards;
}

#endif
