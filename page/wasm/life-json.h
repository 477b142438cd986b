/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PAGE_LIFE_JSON_H
#define MT_PAGE_LIFE_JSON_H

#include "lives.h"

#include <jansson.h>

/* Return all that is known of a block, with its stacks. */
json_t *mt_life_json(const struct mt_lives *lives, const struct mt_analysis *analysis,
                     const struct mt_life *life);

/* [{"slot", "moment", "time_ns", "requested", "went_on", "is_stacked", "line"}]: the last times
 * that memory ran out. is_stacked: PyTorch's allocator failed, so the request would be on the
 * stack. */
json_t *mt_ooms_json(const struct mt_lives *lives, const struct mt_replay *replay);

#endif
