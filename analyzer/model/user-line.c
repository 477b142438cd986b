/* SPDX-License-Identifier: Apache-2.0 */
#include "user-line.h"

uint32_t mt_line_stack(const struct mt_definitions *definitions, const struct mt_block *block)
{
    uint32_t stack = block->forward_stack ? block->forward_stack : block->stack;
    uint32_t user = mt_stack(definitions, stack)->user;
    uint32_t python = mt_stack(definitions, stack)->python;
    return user ? user : python ? python : stack;
}
