/* SPDX-License-Identifier: Apache-2.0 */
#include "process-end.h"

#include <stdatomic.h>
#include <stdio.h>

enum { EXIT = 1 << 16, SIGNAL = 2 << 16 };

static _Atomic int process_end; /* 0: unknown */

void mt_will_exit(int status)
{
    atomic_store(&process_end, EXIT | (status & 0xff));
}

void mt_will_be_killed(int signal)
{
    atomic_store(&process_end, SIGNAL | (signal & 0xff));
}

const char *mt_process_end(char out[MT_PROCESS_END_TEXT])
{
    int end = atomic_load(&process_end);
    *out = '\0';
    if (end)
        snprintf(out, MT_PROCESS_END_TEXT, "%s %d", end & EXIT ? "exit code" : "signal",
                 end & 0xff);
    return out;
}
