/* SPDX-License-Identifier: Apache-2.0 */
/* Describe a path in the program's terms, step by step (FORMAT.md, "A path of holders"). */
#ifndef MT_HOLDERS_STEPS_H
#define MT_HOLDERS_STEPS_H

#include "path-text.h"

#include <stdbool.h>
#include <stdint.h>

/* Add "local variable `x` of train() at train.py:31". how: "of", "of suspended". */
void mt_step_variable(struct mt_path *path, const char *what, uint64_t frame, unsigned index,
                      const char *how);

/* Add the step from node[0] to node[1], or further if several form one step: node[n - 1] is the
 * last. Return the number of nodes that it covers, at least 1. */
unsigned mt_step_add(struct mt_path *path, const uint32_t *node, unsigned n);

/* Add a key of a dict. Return whether there is one with this value. */
bool mt_step_key(struct mt_path *path, uint64_t dict, uint64_t value, const char *format);

#endif
