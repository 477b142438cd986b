/* SPDX-License-Identifier: Apache-2.0 */
/* Applies a filter (filter.h) to what a device has. */
#ifndef MT_FILTERED_H
#define MT_FILTERED_H

#include "analysis.h"

/* Fills in device->shown: the verdicts that the filter lets through. 0 or -ENOMEM. */
int mt_filtered_blocks(struct mt_device *device, const struct mt_filter *filter,
                       const struct mt_definitions *definitions);

/* Takes rows out that are too small, and sorts the others. */
void mt_filtered_sites(struct mt_sites *sites, const struct mt_filter *filter,
                       const struct mt_definitions *definitions);
void mt_filtered_groups(struct mt_groups *groups, const struct mt_filter *filter);

/* The blocks of device->shown as rows of their own: without small ones, sorted, as many as are asked for.
 * To be freed; NULL: no memory. */
struct mt_verdict *mt_filtered_rows(const struct mt_device *device, const struct mt_filter *filter,
                                    const struct mt_definitions *definitions, size_t *n);

#endif
