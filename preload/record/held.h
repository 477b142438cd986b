/* SPDX-License-Identifier: Apache-2.0 */
/* A part of the recorder that one thread at a time may use, within a hook; others go without it. A
 * signal handler may jump out of the hook: the thread gives the part back when it comes again, or
 * ends. */
#ifndef MT_PRELOAD_HELD_H
#define MT_PRELOAD_HELD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct mt_held {
    _Atomic uint32_t by; /* the thread's id; 0: nobody */
};

#define MT_HOLDS 4u /* that a thread has at once */

/* Return whether the part is this thread's now. */
bool mt_hold(struct mt_held *held);

/* Give back the part that was taken last. */
void mt_let_go(struct mt_held *held);

bool mt_is_held_here(const struct mt_held *held);

#endif
