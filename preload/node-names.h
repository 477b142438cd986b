/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PRELOAD_NODE_NAMES_H
#define MT_PRELOAD_NODE_NAMES_H

#include <stdint.h>

/* String id of the mangled C++ type name of a torch::autograd::Node; 0: not known. */
uint32_t mt_node_name(const void *node);

/* For a forked child, whose ids begin anew. */
void mt_node_names_reset(void);

#endif
