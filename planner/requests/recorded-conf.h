/* SPDX-License-Identifier: Apache-2.0 */
/* The release of PyTorch and the settings of its allocator in a recorded run: all who replay it
 * read them here. */
#ifndef MT_PLANNER_RECORDED_CONF_H
#define MT_PLANNER_RECORDED_CONF_H

#include "analyzer/trace/definitions.h"
#include "planner/allocator/conf.h"

/* Return what the variable held that PyTorch read when the run began; NULL: none was set. The text
 * belongs to the definitions. */
const char *mt_recorded_conf(const struct mt_definitions *definitions);

struct mt_recorded_setup {
    struct mt_torch_release release; /* the newest where it is not known */
    bool knows_release;
    struct mt_alloc_conf conf;          /* PyTorch's defaults where it cannot be read */
    struct mt_alloc_conf_error problem; /* why it cannot be; "": it can */
};

/* Read the setup of the trace; or of its texts, NULL: not there. */
void mt_recorded_setup(struct mt_recorded_setup *setup, const struct mt_definitions *definitions);
void mt_setup_of(struct mt_recorded_setup *setup, const char *torch, const char *conf);

/* Return whether both were read. */
static inline bool mt_setup_is_known(const struct mt_recorded_setup *setup)
{
    return setup->knows_release && !*setup->problem.text;
}

#endif
