/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a path from objects other than Python's. */
#ifndef MT_HOLDERS_TORCH_STEPS_H
#define MT_HOLDERS_TORCH_STEPS_H

#include "path-text.h"

#include <stdint.h>

/* Add the step from node[0], which is a TensorImpl or an autograd node with the address graph, to
 * node[1]. Return the number of nodes that it covers. */
unsigned mt_step_from_impl(struct mt_path *path, const uint32_t *node);
unsigned mt_step_from_graph(struct mt_path *path, const uint32_t *node, uint64_t graph);

#endif
