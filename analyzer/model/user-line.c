/* SPDX-License-Identifier: Apache-2.0 */
#include "user-line.h"

#include <string.h>

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

static bool is_of_one_function(const struct mt_frame *one, const struct mt_frame *other)
{
    return !strcmp(one->function, other->function) && !strcmp(one->file, other->file);
}

/* Go to the callers down to a depth. *callee: the last stack that was left, unless none is. */
static uint32_t caller_at(const struct mt_definitions *definitions, uint32_t stack, uint32_t depth,
                          uint32_t *callee)
{
    while (mt_stack(definitions, stack)->depth > depth) {
        *callee = stack;
        stack = mt_stack(definitions, stack)->parent;
    }
    return stack;
}

uint32_t mt_use_statement(const struct mt_definitions *definitions, uint32_t made, uint32_t used)
{
    uint32_t of_made = 0, of_used = 0, depth = mt_stack(definitions, used)->depth;
    made = caller_at(definitions, made, depth, &of_made);
    used = caller_at(definitions, used, mt_stack(definitions, made)->depth, &of_used);
    while (made != used && mt_stack(definitions, made)->depth) {
        depth = mt_stack(definitions, made)->depth - 1;
        made = caller_at(definitions, made, depth, &of_made);
        used = caller_at(definitions, used, depth, &of_used);
    }
    if (of_made && of_used &&
        is_of_one_function(mt_stack_frame(definitions, of_made),
                           mt_stack_frame(definitions, of_used)))
        used = of_used;
    uint32_t user = mt_stack(definitions, used)->user;
    return user && !mt_stack_frame(definitions, user)->is_native ? user : 0;
}

bool mt_is_of_statement(const struct mt_definitions *definitions, uint32_t stack,
                        uint32_t statement)
{
    uint32_t callee;
    return caller_at(definitions, stack, mt_stack(definitions, statement)->depth, &callee) ==
           statement;
}
