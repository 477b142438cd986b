/* SPDX-License-Identifier: Apache-2.0 */
/* The torch.nn module of a block. */
#ifndef MT_MODULES_H
#define MT_MODULES_H

#include "classify.h"

/* Return the stack whose module (mt_stack_module) a block belongs to: that of its allocation; for a
 * block from backward, its operator's forward call; for a parameter allocated before its module had
 * a name, its first use; for a gradient, its parameter's. 0: unknown. */
uint32_t mt_block_module(const struct mt_definitions *definitions,
                         const struct mt_verdict *verdict);

#endif
