/* SPDX-License-Identifier: Apache-2.0 */
/* Sleep until another thread of this process changes a word. */
#ifndef MT_PRELOAD_FUTEX_H
#define MT_PRELOAD_FUTEX_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Call futex(2) within this process. */
static inline long mt_futex(_Atomic uint32_t *word, int operation, uint32_t value,
                            const struct timespec *timeout)
{
    return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
}

#endif
