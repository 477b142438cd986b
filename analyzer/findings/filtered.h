/* SPDX-License-Identifier: Apache-2.0 */
/* Apply a filter (filter.h) to a device's blocks, call sites and groups. */
#ifndef MT_FILTERED_H
#define MT_FILTERED_H

#include "analyzer/query/query.h"
#include "analyzer/query/sites.h"
#include "analyzer/replay/replay.h"

struct mt_device;

/* Fill in device->shown: the verdicts that pass the filter. 0 or -ENOMEM. */
int mt_filtered_blocks(struct mt_device *device, const struct mt_filter *filter,
                       const struct mt_definitions *definitions);

/* Remove small rows and sort the others. */
void mt_filtered_sites(struct mt_sites *sites, const struct mt_filter *filter,
                       const struct mt_definitions *definitions);
void mt_filtered_groups(struct mt_groups *groups, const struct mt_filter *filter);

/* Return the blocks of device->shown as rows: without small ones, sorted, as many as wanted. The
 * caller frees them. NULL: no memory. */
struct mt_verdict *mt_filtered_rows(const struct mt_device *device, const struct mt_filter *filter,
                                    const struct mt_definitions *definitions, size_t *n);

#endif
