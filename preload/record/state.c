/* SPDX-License-Identifier: Apache-2.0 */
/* Whether this process records. */
#include "preload/host/safe-read.h"
#include "recorder.h"
#include "tail.h"

#include <sys/mman.h>

/* On its own page: the kernel clears it in a forked child, even if none of our handlers runs (a
 * bare clone, _Fork). Otherwise the child would put its events into its parent's rings, which are
 * shared memory. */
static struct {
    _Atomic int state;
    char rest[MT_TAIL_PAGE - sizeof(int)];
} state_page __attribute__((aligned(MT_TAIL_PAGE), used));
extern _Atomic int mt_state __attribute__((alias("state_page")));
_Static_assert(MT_IDLE == 0, "as the kernel leaves it");

/* The same, but not on that page: ASan takes what follows mt_state there for out of bounds. */
static struct {
    _Atomic int pid; /* 0: unknown, or not kept */
    char rest[MT_TAIL_PAGE - sizeof(int)];
} pid_page __attribute__((aligned(MT_TAIL_PAGE)));

void mt_state_wipe_on_fork(void)
{
    madvise(&state_page, sizeof state_page, MADV_WIPEONFORK);
    if (!madvise(&pid_page, sizeof pid_page, MADV_WIPEONFORK))
        mt_safe_read_keep_pid(&pid_page.pid);
}
