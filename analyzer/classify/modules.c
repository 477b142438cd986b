/* SPDX-License-Identifier: Apache-2.0 */
#include "modules.h"

#include <stdbool.h>

static bool has_module(const struct mt_definitions *d, uint32_t stack)
{
    return mt_stack(d, stack)->call != 0;
}

/* Return a block's module. A gradient or a state belongs to its parameter's module, wherever it was
 * allocated. A parameter belongs to the module that moved it to the device, else to the first that
 * used it. */
uint32_t mt_block_module(const struct mt_definitions *d, const struct mt_verdict *verdict)
{
    const struct mt_block *block = verdict->block;
    bool is_of_leaf = verdict->rule->category == MT_CATEGORY_GRADIENTS ||
                      verdict->rule->category == MT_CATEGORY_OPTIMIZER_STATE;
    const uint32_t stacks[] = {
        is_of_leaf ? block->leaf_stack : 0, block->stack, block->forward_stack, block->leaf_stack,
        verdict->rule->category == MT_CATEGORY_PARAMETERS ? block->save_stack : 0};
    if (verdict->rule->category == MT_CATEGORY_WORKSPACE)
        return 0; /* shared by all modules */
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
        if (has_module(d, stacks[i]))
            return stacks[i];
    return 0;
}
