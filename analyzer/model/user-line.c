/* SPDX-License-Identifier: Apache-2.0 */
#include "user-line.h"

uint32_t mt_line_stack(const struct mt_definitions *definitions, const struct mt_block *block)
{
    return mt_stack_line(definitions, mt_blamed_stack(block));
}

uint32_t mt_saver_stack(const struct mt_definitions *definitions, const struct mt_block *block)
{
    uint32_t own = mt_line_stack(definitions, block);
    uint32_t saver =
        block->evidence & MT_SAW_SAVED && mt_stack(definitions, block->save_stack)->depth
            ? mt_stack_line(definitions, block->save_stack)
            : 0;
    return mt_stack(definitions, saver)->frame == mt_stack(definitions, own)->frame ? 0 : saver;
}

uint32_t mt_request_line(const struct mt_definitions *definitions, uint32_t stack,
                         uint32_t forward_stack)
{
    bool is_known =
        mt_stack(definitions, stack)->user || !mt_stack(definitions, forward_stack)->depth;
    return mt_stack_line(definitions, is_known ? stack : forward_stack);
}
