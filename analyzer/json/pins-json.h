/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools and pinned segments in JSON, for memtap.report/1 and memtap.oom/1.
 */
#ifndef MT_PINS_JSON_H
#define MT_PINS_JSON_H

#include "analyzer/findings/pins.h"
#include "analyzer/findings/private-pools.h"
#include "analyzer/print/json.h"

json_t *mt_json_private_pools(const struct mt_private_pools *pools);
json_t *mt_json_pool(const struct mt_pool_state *pool);
json_t *mt_json_pins(const struct mt_pins *pins, const struct mt_definitions *definitions);

#endif
