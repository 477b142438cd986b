/* SPDX-License-Identifier: Apache-2.0 */
/* Ends that no destructor sees (os._exit, a forked worker of multiprocessing). */
#include "real.h"
#include "recorder.h"

void mt_hook_exit(int status)
{
    mt_finish();
    MT_REAL(exit)(status);
    __builtin_unreachable();
}

void mt_hook_exit_c99(int status)
{
    mt_finish();
    MT_REAL(exit_c99)(status);
    __builtin_unreachable();
}
