/* SPDX-License-Identifier: Apache-2.0 */
#include "shares.h"
#include "analyzer/classify/modules.h"
#include "analyzer/model/user-line.h"

#include <errno.h>
#include <stdlib.h>

static int by_kind(const void *left, const void *right)
{
    const struct mt_live_share *a = left, *b = right;
    const uint64_t keys[][2] = {
        {a->stack, b->stack}, {a->category, b->category},
        {a->operator, b->operator}, {a->module, b->module}, {a->phase, b->phase}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static int by_size(const void *left, const void *right)
{
    const struct mt_live_share *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return by_kind(left, right);
}

int mt_live_shares(const struct mt_analysis *analysis, const struct mt_device *device,
                   struct mt_live_share **shares, size_t *n)
{
    const struct mt_definitions *d = analysis->replay.definitions;
    struct mt_live_share *share = calloc(device->n_shown + 1, sizeof *share);
    *shares = share;
    *n = 0;
    if (!share)
        return -ENOMEM;
    for (size_t i = 0; i < device->n_shown; i++) {
        const struct mt_verdict *verdict = &device->shown[i];
        const struct mt_block *block = verdict->block;
        share[i] = (struct mt_live_share){.stack = mt_blamed_stack(block),
                                          .module = mt_block_module(d, verdict),
                                          .operator= block->node_name,
                                          .category = verdict->rule->category,
                                          .phase = (enum mt_phase)block->birth->when.phase,
                                          .bytes = block->size,
                                          .blocks = 1};
    }
    qsort(share, device->n_shown, sizeof *share, by_kind);
    for (size_t i = 0; i < device->n_shown; i++) {
        if (*n && !by_kind(&share[*n - 1], &share[i])) {
            share[*n - 1].bytes += share[i].bytes;
            share[*n - 1].blocks++;
        } else {
            share[(*n)++] = share[i];
        }
    }
    qsort(share, *n, sizeof *share, by_size);
    return 0;
}

int mt_export_each(const struct mt_export *export, mt_export_shower *show, void *data,
                   struct mt_export_error *error)
{
    int rc = 0;
    for (size_t i = 0; i < export->n_paths && !rc; i++) {
        struct mt_analysis analysis;
        rc = mt_export_analyze(export, export->paths[i], &analysis, error);
        if (!rc)
            rc = show(data, &analysis, export->paths[i]);
        mt_analysis_destroy(&analysis);
    }
    return rc;
}
