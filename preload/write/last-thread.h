/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_WRITE_LAST_THREAD_H
#define MT_WRITE_LAST_THREAD_H

#include <stdbool.h>

/* Return whether all of the program's threads have ended: without us the process would have ended,
 * too. */
bool mt_writer_is_last_thread(void);
/* If the writer is the last thread, end the process with the first thread's exit code, unless that
 * is 0: the kernel uses the last thread's code. Else return the argument. */
void *mt_writer_leave(void *result);

#endif
