/* SPDX-License-Identifier: Apache-2.0 */
#include "wake.h"

#include <errno.h>

static _Atomic uint32_t is_wanted;
static void (*_Atomic take_turn)(void);

void mt_wake_by_turns(void (*turn)(void))
{
    atomic_store(&take_turn, turn);
}

void mt_writer_wake(void)
{
    int saved = errno;
    void (*turn)(void) = atomic_load_explicit(&take_turn, memory_order_relaxed);
    if (turn) {
        turn();
        return;
    }
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
