/* SPDX-License-Identifier: Apache-2.0 */
/* The line that every output names for a block. */
#ifndef MT_USER_LINE_H
#define MT_USER_LINE_H

#include "analyzer/trace/definitions.h"
#include "heap.h"

/* Return the stack that a block counts for: of the backward node's forward call, or of its own
 * allocation. 0: unknown. */
static inline uint32_t mt_blamed_stack(const struct mt_block *block)
{
    return block->forward_stack ? block->forward_stack : block->stack;
}

/* Return the stack whose innermost frame is the block's line (mt_stack_line). 0: unknown. */
uint32_t mt_line_stack(const struct mt_definitions *definitions, const struct mt_block *block);

/* Return the stack whose innermost frame is the line that first saved the block for backward; 0:
 * none did, or the block's own line. */
uint32_t mt_saver_stack(const struct mt_definitions *definitions, const struct mt_block *block);

/* Return the line of a request without a block: that of the user's code, else that of the forward
 * call (0: none). */
uint32_t mt_request_line(const struct mt_definitions *definitions, uint32_t stack,
                         uint32_t forward_stack);

/* Return the stack whose innermost frame is the statement that uses a block, in the innermost
 * function of the user's that ran both at its allocation and at the use: a statement before or
 * after it can free or allocate the block. 0: unknown. */
uint32_t mt_use_statement(const struct mt_definitions *definitions, uint32_t made, uint32_t used);

/* Return whether a stack is of a statement, or of what it calls. */
bool mt_is_of_statement(const struct mt_definitions *definitions, uint32_t stack,
                        uint32_t statement);

#endif
