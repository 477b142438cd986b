/* SPDX-License-Identifier: Apache-2.0 */
#include "scan.h"

#include <stddef.h>

int mt_scan(const char *path, int (*handle)(void *data, const struct mt_batch *batch), void *data,
            struct mt_trace_error *error)
{
    struct mt_reader *reader;
    struct mt_batch batch;
    int rc = mt_reader_open(&reader, path, error);
    if (rc)
        return rc;
    while (mt_reader_next(reader, &batch, error) > 0) {
        rc = handle(data, &batch);
        if (rc)
            break;
    }
    mt_reader_close(reader);
    return rc;
}
