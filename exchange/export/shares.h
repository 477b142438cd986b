/* SPDX-License-Identifier: Apache-2.0 */
/* What is live on a device at the analysis's moment, put together by everything that profiles tell.
 */
#ifndef MT_SHARES_H
#define MT_SHARES_H

#include "export.h"

struct mt_live_share {
    uint32_t stack;    /* of the forward call where backward made it; 0: not known */
    uint32_t module;   /* a stack at work for it: mt_stack_module; 0: none */
    uint32_t operator; /* string id; 0: none */
    enum mt_category category;
    enum mt_phase phase;
    uint64_t bytes, blocks;
};

/* *shares: n of them, the largest first; to be freed. 0 or -ENOMEM. */
int mt_live_shares(const struct mt_analysis *analysis, const struct mt_device *device,
                   struct mt_live_share **shares, size_t *n);

/* Analyzes each trace in turn for a format that shows one moment. As mt_export_writer. */
typedef int mt_export_shower(void *data, const struct mt_analysis *analysis, const char *path);
int mt_export_each(const struct mt_export *export, mt_export_shower *show, void *data,
                   struct mt_export_error *error);

#endif
