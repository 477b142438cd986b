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
    spool->n = records->is_snapshot ? records->n_traces : records->n_runs;
    spool->part = calloc(spool->n + 1, sizeof *spool->part);
    if (!spool->part)
        return -ENOMEM;
    if (fflush(records->spool))
        return -errno;
    for (unsigned i = 0; i < spool->n; i++) {
        bool is_last = i + 1 == records->n_runs;
        spool->part[i].next = records->is_snapshot ? records->trace[i].first : records->run[i];
        spool->part[i].end = records->is_snapshot ? spool->part[i].next + records->trace[i].count
                             : is_last            ? records->n_events
                                                  : records->run[i + 1];
        advance(spool, &spool->part[i]);
    }
    return spool->rc;
}

static bool is_before(const struct mt_spool *spool, const struct mt_import_event *a,
                      const struct mt_import_event *b)
{
    if (a->time_us != b->time_us || spool->has_devices)
        return a->time_us < b->time_us;
    return a->nano < b->nano;
}

bool mt_spool_next(struct mt_spool *spool, struct mt_import_event *event)
{
    struct mt_spool_part *first = NULL;
    for (unsigned i = 0; i < spool->n; i++)
        if (spool->part[i].has &&
            (!first || is_before(spool, &spool->part[i].event, &first->event)))
            first = &spool->part[i];
    if (!first || spool->rc)
        return false;
    *event = first->event;
    if (spool->has_devices)
        event->device = (uint16_t)(first - spool->part);
    advance(spool, first);
    return true;
}

const struct mt_import_event *mt_spool_peek(const struct mt_spool *spool, unsigned device)
{
    return spool->has_devices && device < spool->n && spool->part[device].has
               ? &spool->part[device].event
               : NULL;
}
