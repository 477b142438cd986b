/* SPDX-License-Identifier: Apache-2.0 */
/* The line of the user's code behind a block. */
#ifndef MT_USER_LINE_H
#define MT_USER_LINE_H

#include "analyzer/trace/definitions.h"
#include "heap.h"

/* Return the stack whose innermost frame is the user's line behind a block: of its allocation, or
 * of the backward node's forward call; 0: unknown. */
uint32_t mt_line_stack(const struct mt_definitions *definitions, const struct mt_block *block);

#endif
