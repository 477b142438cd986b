/* SPDX-License-Identifier: Apache-2.0 */
#include "scan.h"
#include "ahead.h"
#include "progress.h"

#include <stddef.h>

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
    mt_ahead_begin(&ahead, reader);
    mt_progress_begin(&progress);
    while (!rc && mt_ahead_next(&ahead, &batch, error) > 0) {
        mt_progress_reach(&progress, &batch);
        rc = handle(data, &batch);
    }
    mt_progress_end(&progress);
    mt_ahead_end(&ahead);
    mt_reader_close(reader);
    return rc;
}
