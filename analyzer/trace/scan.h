/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over a trace file. A long pass shows its progress on a terminal, so callers must not
 * print during it.
 */
#ifndef MT_SCAN_H
#define MT_SCAN_H

#include "trace-format/reader.h"

/* Call handle for every block; it returns 0, or a negative errno that ends the pass. Return that
 * errno, mt_reader_open's with *error filled, or 0. With 0, error->fault tells whether the trace
 * was valid to its end (MT_FAULT_NONE) or only up to a fault. */
int mt_scan(const char *path, int (*handle)(void *data, const struct mt_batch *batch), void *data,
            struct mt_trace_error *error);

/* Fill *error if mt_room_is_full after a batch. */
void mt_scan_describe_full(struct mt_trace_error *error, const struct mt_batch *batch);

#endif
