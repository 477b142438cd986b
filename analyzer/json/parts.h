/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the schemas memtap.report/1 and memtap.oom/1. All return NULL if there is no memory. */
#ifndef MT_JSON_PARTS_H
#define MT_JSON_PARTS_H

#include "analyzer/findings/analysis.h"
#include "analyzer/findings/balance.h"
#include "analyzer/findings/oom.h"
#include "analyzer/findings/pins.h"
#include "analyzer/findings/precision.h"
#include "analyzer/findings/private-pools.h"
#include "analyzer/print/json.h"

json_t *mt_json_balance(const struct mt_balance *balance);
/* Make what was not needed at the moment; unneeded->is_known. */
json_t *mt_json_unneeded(const struct mt_definitions *definitions,
                         const struct mt_unneeded *unneeded);
json_t *mt_json_private_pools(const struct mt_private_pools *pools);
/* Make what is cached, by kind and by pool; null: not known. is_moment: it is not the peak of
 * reserved memory. */
json_t *mt_json_cached(const struct mt_definitions *definitions, const struct mt_cached *cached,
                       bool is_moment);
json_t *mt_json_rising(const struct mt_definitions *definitions, const struct mt_rising *rising);
/* Make those of a device. */
json_t *mt_json_cuda_pools(const struct mt_analysis *analysis, const struct mt_device *device);
json_t *mt_json_pool(const struct mt_pool_state *pool);
json_t *mt_json_pins(const struct mt_pins *pins, const struct mt_definitions *definitions);
/* Make what holds blocks only until the program lets go of it, {garbage, traceback, last_error},
 * each as mt_json_held_most makes it, or null. */
json_t *mt_json_held_kinds(const struct mt_device *device);
json_t *mt_json_growth_sites(const struct mt_definitions *definitions,
                             const struct mt_growth *growth);
/* {"function", "file", "line", "turns", "range"} of a loop, or of ranges; NULL: null. */
json_t *mt_json_loop(const struct mt_turns *turns);
json_t *mt_json_growth(const struct mt_definitions *definitions, const struct mt_growth *growth);

/* Return {kind, device, bytes, blocks, line, rule} of remark.h, or null. */
json_t *mt_json_remark(const struct mt_analysis *analysis);

/* Return the largest first, those that pass the filter. */
json_t *mt_json_call_sites(const struct mt_definitions *definitions, const struct mt_device *device,
                           const struct mt_filter *filter);

/* Return null if nothing is known. */
json_t *mt_json_precision(const struct mt_precision *precision);

/* Return every path of ranges that used the slot's device. */
json_t *mt_json_ranges(const struct mt_rule_context *context, unsigned slot);
json_t *mt_json_marks(const struct mt_definitions *definitions, const struct mt_ranges *ranges);

/* Make whether a request is served; null: unknown. */
json_t *mt_json_served(enum mt_served served);

/* Make {least, about}: parts of the recorded batch; null: about is 0. */
json_t *mt_json_largest_batch(double least, double about);

/* Make what a run still takes for handles. */
json_t *mt_json_handles(const struct mt_handles_to_come *handles);

#endif
