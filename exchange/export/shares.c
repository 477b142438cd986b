/* SPDX-License-Identifier: Apache-2.0 */
#include "shares.h"

int mt_shares_of(struct mt_sums *shares, const struct mt_naming *naming,
                 const struct mt_verdict *verdicts, size_t n)
{
    const struct mt_query query = {
        naming, {MT_BY_BLAMED, MT_BY_CATEGORY, MT_BY_OPERATOR, MT_BY_MODULE, MT_BY_PHASE}, 5};
    return mt_query_rows(shares, &query, verdicts, n);
}

int mt_live_shares(struct mt_sums *shares, const struct mt_analysis *analysis,
                   const struct mt_device *device)
{
    const struct mt_naming naming = mt_replay_naming(&analysis->replay);
    return mt_shares_of(shares, &naming, device->shown, device->n_shown);
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
