/* SPDX-License-Identifier: Apache-2.0 */
/* What is live on a device at the analysis's moment, summed by everything that profiles show. */
#ifndef MT_SHARES_H
#define MT_SHARES_H

#include "export.h"

/* Keys of these sums. */
enum { MT_SHARE_STACK, MT_SHARE_CATEGORY, MT_SHARE_OPERATOR, MT_SHARE_MODULE, MT_SHARE_PHASE };

/* Sum blocks; those that the analysis shows. 0 or -ENOMEM. Call mt_sums_clear in any case. */
int mt_shares_of(struct mt_sums *shares, const struct mt_naming *naming,
                 const struct mt_verdict *verdicts, size_t n);
int mt_live_shares(struct mt_sums *shares, const struct mt_analysis *analysis,
                   const struct mt_device *device);

/* Analyzes each trace in turn for a format that shows one moment. As mt_export_writer. */
typedef int mt_export_shower(void *data, const struct mt_analysis *analysis, const char *path);
int mt_export_each(const struct mt_export *export, mt_export_shower *show, void *data,
                   struct mt_export_error *error);

#endif
