/* SPDX-License-Identifier: Apache-2.0 */
#include "spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void fill(struct mt_spool *spool, struct mt_spool_part *part)
{
    uint64_t left = part->end - part->next;
    size_t want = left < MT_SPOOL_EVENTS ? (size_t)left : MT_SPOOL_EVENTS;
    part->at = part->n = 0;
    if (!want)
        return;
    if (fseeko(spool->file, (off_t)(part->next * sizeof *part->some), SEEK_SET) ||
        fread(part->some, sizeof *part->some, want, spool->file) != want) {
        spool->rc = -EIO;
        return;
    }
    part->n = want;
    part->next += want;
}

static void advance(struct mt_spool *spool, struct mt_spool_part *part)
{
    if (part->at == part->n)
        fill(spool, part);
    part->has = part->at < part->n;
    if (part->has)
        part->event = part->some[part->at++];
}

void mt_spool_end(struct mt_spool *spool)
{
    free(spool->part);
    memset(spool, 0, sizeof *spool);
}

int mt_spool_begin(struct mt_spool *spool, struct mt_records *records)
{
    mt_spool_end(spool);
    spool->file = records->spool;
    spool->has_devices = records->is_snapshot;
    spool->n = records->is_snapshot ? records->n_traces : 1;
    spool->part = calloc(spool->n + 1, sizeof *spool->part);
    if (!spool->part)
        return -ENOMEM;
    if (fflush(records->spool))
        return -errno;
    for (unsigned i = 0; i < spool->n; i++) {
        spool->part[i].next = records->is_snapshot ? records->trace[i].first : 0;
        spool->part[i].end = records->is_snapshot ? spool->part[i].next + records->trace[i].count
                                                  : records->n_events;
        advance(spool, &spool->part[i]);
    }
    return spool->rc;
}

bool mt_spool_next(struct mt_spool *spool, struct mt_import_event *event)
{
    struct mt_spool_part *first = NULL;
    for (unsigned i = 0; i < spool->n; i++)
        if (spool->part[i].has && (!first || spool->part[i].event.time_us < first->event.time_us))
            first = &spool->part[i];
    if (!first || spool->rc)
        return false;
    *event = first->event;
    if (spool->has_devices)
        event->device = (uint16_t)(first - spool->part);
    advance(spool, first);
    return true;
}
