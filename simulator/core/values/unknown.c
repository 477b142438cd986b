/* SPDX-License-Identifier: Apache-2.0 */
#include "values.h"

#include "say.h"

static _Atomic unsigned long sizes;

void sim_unknown_value(int what, const char *name)
{
    (void)name;
    if (what == SIM_ASKS_SIZE || what == SIM_ASKS_CONDITION)
        atomic_fetch_add_explicit(&sizes, 1, memory_order_relaxed);
}

__attribute__((destructor)) static void tell_at_the_end(void)
{
    unsigned long n = sizes;
    if (n)
        sim_say("%lu size%s or condition%s hung on values that were not computed; the peak may be "
                "higher",
                n, n == 1 ? "" : "s", n == 1 ? "" : "s");
}
