/* SPDX-License-Identifier: Apache-2.0 */
/* The PyTorch release and allocator settings of a recorded run, for all replays. */
#ifndef MT_PLANNER_RECORDED_CONF_H
#define MT_PLANNER_RECORDED_CONF_H

#include "analyzer/trace/definitions.h"
#include "planner/allocator/conf.h"

/* Return the value of the variable that PyTorch read when the run began; NULL: not set. Owned by
 * the definitions. */
const char *mt_recorded_conf(const struct mt_definitions *definitions);

struct mt_recorded_setup {
    struct mt_torch_release release; /* the newest if unknown */
    bool knows_release;
    struct mt_alloc_conf conf;          /* PyTorch's defaults if it cannot be parsed */
    struct mt_alloc_conf_error problem; /* why it cannot be parsed; "": it can be */
};

/* Read the setup from a trace, or from its texts, which may be NULL. */
void mt_recorded_setup(struct mt_recorded_setup *setup, const struct mt_definitions *definitions);
void mt_setup_of(struct mt_recorded_setup *setup, const char *torch, const char *conf);

/* Return whether both are known. */
static inline bool mt_setup_is_known(const struct mt_recorded_setup *setup)
{
    return setup->knows_release && !*setup->problem.text;
}

#endif
