/* SPDX-License-Identifier: Apache-2.0 */
/* How this process is about to end, for the trace. Async-signal-safe; the last note counts. */
#ifndef MT_PRELOAD_PROCESS_END_H
#define MT_PRELOAD_PROCESS_END_H

#define MT_PROCESS_END_TEXT 32

/* Note how the process ends: a status for exit(3), or a signal. */
void mt_will_exit(int status);
void mt_will_be_killed(int signal);

/* Write "exit code 3", "signal 9", or "" if unknown. Return out. */
const char *mt_process_end(char out[MT_PROCESS_END_TEXT]);

#endif
