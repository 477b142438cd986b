/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over a trace file. If it takes long, it says on a terminal how far it is, so it is not
 * for the caller, which prints meanwhile.
 */
#ifndef MT_SCAN_H
#define MT_SCAN_H

#include "trace-format/reader.h"

/*
 * Calls handle for every block, which returns 0 or a negative errno that ends the pass. Returns
 * that, or what mt_reader_open returned with *error filled, or 0: then error->fault says whether
 * the trace was sound to its end (MT_FAULT_NONE) or everything before the fault was handled.
 */
int mt_scan(const char *path, int (*handle)(void *data, const struct mt_batch *batch), void *data,
            struct mt_trace_error *error);

/* What is wrong where mt_room_is_full after a batch. */
void mt_scan_tell_full(struct mt_trace_error *error, const struct mt_batch *batch);

#endif
