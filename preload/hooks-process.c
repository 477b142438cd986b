/* SPDX-License-Identifier: Apache-2.0 */
/* Ends that no destructor sees (os._exit, a forked worker of multiprocessing). They may come from a
 * signal handler: nothing here looks anything up, and the kernel is asked directly. */
#include "hooks.h"
#include "recorder.h"

#include <sys/syscall.h>
#include <unistd.h>

static _Noreturn void end_process(int status)
{
    mt_finish();
    for (;;)
        syscall(SYS_exit_group, status);
}

void mt_hook_exit(int status)
{
    end_process(status);
}

void mt_hook_exit_c99(int status)
{
    end_process(status);
}
