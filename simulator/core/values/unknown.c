/* SPDX-License-Identifier: Apache-2.0 */
#include "values.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "say.h"

static _Atomic unsigned long sizes, integers;

/* A failure of the program may follow from such a value: a size of 0, or a division by one. */
static void report(int status, void *unused)
{
    unsigned long n = sizes, all = n + integers;

    (void)unused;
    if (status)
        sim_print(
            "the program read %lu value%s that %s not simulated; its error may follow from %s", all,
            all == 1 ? "" : "s", all == 1 ? "is" : "are", all == 1 ? "it" : "them");
    else if (n)
        sim_print(
            "%lu size%s or condition%s depend%s on values that are not simulated; the peak may "
            "be higher",
            n, n == 1 ? "" : "s", n == 1 ? "" : "s", n == 1 ? "s" : "");
}

void sim_unknown_value(int what, const char *name)
{
    static atomic_bool is_registered;

    (void)name;
    if (what != SIM_UNKNOWN_SIZE && what != SIM_UNKNOWN_CONDITION && what != SIM_UNKNOWN_NUMBER)
        return;
    atomic_fetch_add_explicit(what == SIM_UNKNOWN_NUMBER ? &integers : &sizes, 1,
                              memory_order_relaxed);
    if (!atomic_exchange(&is_registered, true))
        on_exit(report, NULL);
}
