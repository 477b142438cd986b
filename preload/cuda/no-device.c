/* SPDX-License-Identifier: Apache-2.0 */
#include "no-device.h"
#include "preload/host/no-cancel.h"
#include "preload/record/recorder.h"
#include "preload/write/roster.h"
#include "settings/table.h"
#include "trace-format/cuda-errors.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Sign memtap run's roster. The settings are not read yet: only a recording reads them. */
static void tell(const char *function, unsigned result)
{
    MT_NO_CANCEL();
    char text[80];
    const char *roster = getenv(mt_setting_table[MT_ID_roster].variable);
    if (!roster || !*roster)
        return;
    snprintf(text, sizeof text, "!%u %s", result, function);
    mt_roster_sign(roster, text);
}

bool mt_has_no_device(const char *function, unsigned result)
{
    static _Atomic int is_told;
    if (atomic_load(&mt_state) != MT_IDLE || !mt_cuda_no_device_why(result))
        return false;
    int saved = errno;
    if (!atomic_exchange(&is_told, 1))
        tell(function, result);
    errno = saved;
    return true;
}
