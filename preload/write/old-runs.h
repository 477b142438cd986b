/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of ended runs (MEMTAP_KEEP_RUNS). */
#ifndef MT_PRELOAD_OLD_RUNS_H
#define MT_PRELOAD_OLD_RUNS_H

/* Remove traces of ended processes that are beyond the bound, in the folder of this trace: only
 * those that a process of this user wrote with the same output's name, and that are still the file
 * that it wrote. Writer only. */
void mt_old_runs_remove(const char *trace);

#endif
