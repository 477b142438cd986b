/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace states about its process, as "key=value" texts (FORMAT.md, "Info keys"). */
#ifndef MT_PRELOAD_INFO_H
#define MT_PRELOAD_INFO_H

#include "preload/write/writer.h"

/* Copy the environment's values, in a thread of the host, which may change them at any time. */
void mt_info_prepare(void);

/* Collect at the start. start_ns is the trace's, on CLOCK_MONOTONIC. */
void mt_info_collect(uint64_t start_ns, mt_info_sink *sink, void *data);

/* Collect what has changed since then. */
void mt_info_collect_changes(mt_info_sink *sink, void *data);

/* Collect at the end, in the writer's thread: what the recording found out, and its cost. */
void mt_info_collect_late(mt_info_sink *sink, void *data);

#endif
