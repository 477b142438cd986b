/* SPDX-License-Identifier: Apache-2.0 */
#include "wake.h"

#include <errno.h>
#include <stdbool.h>

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

bool mt_wake_wait(const struct timespec *period)
{
    return mt_futex(&is_wanted, FUTEX_WAIT, 0, period) && errno == ETIMEDOUT;
}

#define ROOM_AGAIN (MT_RING_WORDS / 2)
#define ROOM_PERIOD_NS 5000000

/* Return whether a thread that sleeps for room may continue: when half of its ring is free, since
 * otherwise all threads would wake for a few events each time the writer has read some, and use its
 * processor. If the writer has no thread, nothing more is certain to be read: any room will do. */
static bool has_room_again(struct mt_own_ring *ring)
{
    bool is_by_turns = atomic_load_explicit(&take_turn, memory_order_relaxed);
    return is_by_turns ? !mt_ring_is_full(ring) : mt_ring_used(ring) <= ROOM_AGAIN;
}

void mt_wake_await_room(struct mt_own_ring *ring)
{
    struct timespec period = {0, ROOM_PERIOD_NS};
    mt_writer_wake();
    atomic_store(&ring->awaits_room, 1); /* first: the writer frees room and then checks */
    if (mt_ring_is_full(ring))
        mt_futex(&ring->awaits_room, FUTEX_WAIT, 1, &period);
    atomic_store_explicit(&ring->awaits_room, 0, memory_order_relaxed);
}

void mt_wake_return_room(struct mt_own_ring *ring, uint64_t at)
{
    atomic_store(&ring->read_to, at);
    if (atomic_load(&ring->awaits_room) && has_room_again(ring) &&
        atomic_exchange(&ring->awaits_room, 0))
        mt_futex(&ring->awaits_room, FUTEX_WAKE, 1, NULL);
}

void mt_wake_forget(void)
{
    atomic_store(&is_wanted, 0);
}
