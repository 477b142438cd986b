/* SPDX-License-Identifier: Apache-2.0 */
#include "wake.h"

#include <errno.h>

static _Atomic uint32_t is_wanted;

void mt_writer_wake(void)
{
    int saved = errno;
    if (!atomic_exchange(&is_wanted, 1))
        mt_futex(&is_wanted, FUTEX_WAKE, 1, NULL);
    errno = saved;
}

int mt_wake_wait(const struct timespec *period)
{
    return mt_futex(&is_wanted, FUTEX_WAIT, 0, period) && errno == ETIMEDOUT;
}

void mt_wake_forget(void)
{
    atomic_store(&is_wanted, 0);
}
