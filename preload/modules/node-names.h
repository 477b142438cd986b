/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PRELOAD_NODE_NAMES_H
#define MT_PRELOAD_NODE_NAMES_H

#include "preload/record/recorder.h"

/* Return the string id of the mangled C++ type name of a torch::autograd::Node, or 0. Call between
 * mt_enter and mt_leave. */
uint32_t mt_node_name(struct mt_thread *self, const void *node);

/* Reset in a forked child, whose ids start over. */
void mt_node_names_reset(void);

#endif
