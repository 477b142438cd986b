/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of PyTorch's allocator in a recorded run. */
#ifndef MT_PLANNER_RECORDED_CONF_H
#define MT_PLANNER_RECORDED_CONF_H

#include "analyzer/trace/definitions.h"

/* Return what the variable held that PyTorch read when the run began; NULL: none was set. The text
 * belongs to the definitions. */
const char *mt_recorded_conf(const struct mt_definitions *definitions);

#endif
