/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning and the end of the trace. */
#ifndef MT_WRITE_TRACE_H
#define MT_WRITE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

/* Do the writer's work, with `working` held: create the trace; read everything and close the
 * trace. */
void mt_writer_begin_trace(void);
void mt_writer_end_trace(void);

/* After the last drain of a recording that was stopped: free what it had, so that another may
 * begin.
 */
void mt_writer_forget(void);

/* Sign memtap run's manifest of traces: texts terminated by zeros; an empty one could not be
 * created. At the end, each trace adds another, with its processor time before the path. */
bool mt_writer_sign_manifest(uint64_t cpu_ns);

#endif
