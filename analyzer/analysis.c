/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis.h"
#include "grow.h"

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

/* The verdicts on the blocks of a device that its heap remembers; *n of them. NULL: no memory. */
static struct mt_verdict *judge(const struct mt_heap *heap, unsigned slot,
                                const struct mt_rule_context *context, size_t *n)
{
    struct mt_verdict *verdicts = NULL;
    size_t capacity = 0;
    *n = 0;
    if (mt_grow(&verdicts, &capacity, 1, sizeof *verdicts))
        return NULL;
    for (uint32_t i = 1; i < heap->n_records; i++) {
        const struct mt_block *block = mt_heap_record(heap, i);
        if (!mt_heap_is_remembered(heap, block) || mt_device_slot(block->device) != slot)
            continue;
        if (mt_grow(&verdicts, &capacity, *n + 1, sizeof *verdicts)) {
            free(verdicts);
            return NULL;
        }
        verdicts[(*n)++] = (struct mt_verdict){block, mt_classify(context, block)};
    }
    return verdicts;
}

/* PyTorch's peak where it used the device, else CUDA's. */
static void choose_peak(struct mt_device *device, const struct mt_replay *replay, unsigned slot)
{
    device->device = (int)slot - 1;
    device->of_cuda = replay->peak[slot].event == 0;
    device->peak = device->of_cuda ? replay->cuda.peak[slot] : replay->peak[slot];
    if (device->peak.reserved > device->peak.allocated)
        device->cached = device->peak.reserved - device->peak.allocated;
    if (device->peak.allocated > device->peak.known_bytes)
        device->unseen = device->peak.allocated - device->peak.known_bytes;
}

static int analyze_device(struct mt_analysis *analysis, unsigned slot)
{
    const struct mt_replay *replay = &analysis->replay;
    struct mt_device *device = &analysis->devices[analysis->n_devices++];
    struct mt_rule_context context = {replay->definitions, replay->tracker.saw_parameters};
    size_t n;
    choose_peak(device, replay, slot);
    device->by_rule = calloc(mt_n_rules, sizeof *device->by_rule);
    struct mt_verdict *verdicts =
        judge(device->of_cuda ? &replay->cuda.heap : &replay->blocks, slot, &context, &n);
    int rc = verdicts && device->by_rule ? 0 : -ENOMEM;
    for (size_t i = 0; !rc && i < n; i++)
        count(device, &verdicts[i]);
    if (!rc)
        rc = mt_sites_collect(&device->sites, replay->definitions, verdicts, n);
    free(verdicts);
    return rc;
}

static int analyze_devices(struct mt_analysis *analysis)
{
    analysis->devices = calloc(MT_DEVICES, sizeof *analysis->devices);
    if (!analysis->devices)
        return -ENOMEM;
    for (unsigned slot = 0; slot < MT_DEVICES; slot++) {
        if (!analysis->replay.peak[slot].event && !analysis->replay.cuda.peak[slot].event)
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
    int rc = mt_replay(path, &analysis->replay, &analysis->fault);
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
