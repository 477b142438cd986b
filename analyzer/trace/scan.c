/* SPDX-License-Identifier: Apache-2.0 */
#include "scan.h"
#include "analyzer/support/ahead.h"
#include "analyzer/support/progress.h"
#include "analyzer/support/room.h"
#include "analyzer/support/text.h"

#include <stdio.h>

/* Events between two checks of the memory limit. */
#define LOOK_EACH 16384u

void mt_scan_describe_full(struct mt_trace_error *error, const struct mt_batch *batch)
{
    char size[MT_SIZE_TEXT];
    error->fault = MT_FAULT_ROOM;
    error->offset = batch->offset;
    snprintf(error->text, sizeof error->text,
             "stopped reading at byte %llu, at the memory limit of %s; %s allows more",
             (unsigned long long)batch->offset, mt_size_text(size, mt_room()), mt_room_raised_by());
}

int mt_scan(const char *path, int (*handle)(void *data, const struct mt_batch *batch), void *data,
            struct mt_trace_error *error)
{
    struct mt_reader *reader;
    struct mt_ahead ahead;
    struct mt_progress progress;
    struct mt_batch batch;
    int rc = mt_reader_open(&reader, path, error);
    if (rc)
        return rc;
    mt_room_input(path);
    mt_ahead_begin(&ahead, reader);
    mt_progress_begin(&progress);
    for (size_t n = 0; !rc && mt_ahead_next(&ahead, &batch, error) > 0;) {
        mt_progress_reach(&progress, &batch);
        rc = handle(data, &batch);
        n += batch.n_definitions ? LOOK_EACH : batch.n_events; /* a text may have 64 KiB */
        if (n >= LOOK_EACH && mt_room_is_full()) {
            mt_scan_describe_full(error, &batch);
            break;
        }
        n %= LOOK_EACH;
    }
    mt_progress_end(&progress);
    mt_ahead_end(&ahead);
    mt_reader_close(reader);
    return rc;
}
