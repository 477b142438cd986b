/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of ended runs (MEMTAP_KEEP_RUNS). */
#ifndef MT_WRITE_OLD_RUNS_H
#define MT_WRITE_OLD_RUNS_H

/* Remove traces of ended processes that exceed the limits, in this trace's directory: only traces
 * that a process of this user wrote with the same output pattern, and whose file was not replaced.
 * Writer only. */
void mt_old_runs_remove(const char *trace);

#endif
