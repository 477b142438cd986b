/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void count(struct mt_device *device, const struct mt_verdict *verdict)
{
    struct mt_share *shares[] = {&device->category[verdict->rule->category],
                                 &device->by_rule[verdict->rule - mt_rules]};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        shares[i]->bytes += verdict->block->size;
        shares[i]->blocks++;
    }
}

static int judge(struct mt_device *device, const struct mt_rule_context *context,
                 const struct mt_snapshot *snapshot)
{
    struct mt_verdict *verdicts = calloc(snapshot->n_blocks + 1, sizeof *verdicts);
    device->by_rule = calloc(mt_n_rules, sizeof *device->by_rule);
    int rc = verdicts && device->by_rule ? 0 : -ENOMEM;
    for (size_t i = 0; !rc && i < snapshot->n_blocks; i++) {
        const struct mt_block *block = snapshot->blocks[i];
        verdicts[i] = (struct mt_verdict){block, mt_classify(context, block)};
        count(device, &verdicts[i]);
    }
    if (!rc)
        rc = mt_sites_collect(&device->sites, context->definitions, verdicts, snapshot->n_blocks);
    free(verdicts);
    return rc;
}

static int analyze_device(struct mt_analysis *analysis, unsigned slot)
{
    struct mt_device *device = &analysis->devices[analysis->n_devices];
    const struct mt_snapshot *snapshot = &analysis->replay.snapshot[slot];
    struct mt_rule_context context = {analysis->replay.definitions,
                                      analysis->replay.tracker.saw_parameters};
    device->device = (int)slot - 1;
    device->peak = *mt_survey_peak(&analysis->survey, slot, &device->of_cuda);
    if (device->peak.reserved > device->peak.allocated)
        device->cached = device->peak.reserved - device->peak.allocated;
    if (device->peak.allocated > snapshot->bytes)
        device->unseen = device->peak.allocated - snapshot->bytes;
    device->cuda_bytes = snapshot->cuda_bytes;
    analysis->n_devices++;
    return judge(device, &context, snapshot);
}

static int analyze_devices(struct mt_analysis *analysis)
{
    analysis->devices = calloc(MT_DEVICES, sizeof *analysis->devices);
    if (!analysis->devices)
        return -ENOMEM;
    for (unsigned slot = 0; slot < MT_DEVICES; slot++) {
        if (!analysis->replay.snapshot[slot].event)
            continue;
        int rc = analyze_device(analysis, slot);
        if (rc)
            return rc;
    }
    return 0;
}

int mt_analysis_create(struct mt_analysis *analysis, const char *path)
{
    memset(analysis, 0, sizeof *analysis);
    int rc = mt_survey(path, &analysis->survey, NULL, &analysis->fault);
    if (!rc)
        rc = mt_replay(path, &analysis->survey, &analysis->replay, &analysis->fault);
    if (!rc)
        rc = analyze_devices(analysis);
    return rc;
}

void mt_analysis_destroy(struct mt_analysis *analysis)
{
    for (size_t i = 0; i < analysis->n_devices; i++) {
        free(analysis->devices[i].by_rule);
        mt_sites_clear(&analysis->devices[i].sites);
    }
    free(analysis->devices);
    mt_replay_clear(&analysis->replay);
    memset(analysis, 0, sizeof *analysis);
}

const struct mt_device *mt_analysis_main_device(const struct mt_analysis *analysis)
{
    const struct mt_device *best = NULL;
    for (size_t i = 0; i < analysis->n_devices; i++)
        if (!best || analysis->devices[i].peak.allocated > best->peak.allocated)
            best = &analysis->devices[i];
    return best;
}
