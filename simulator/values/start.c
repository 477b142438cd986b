/* SPDX-License-Identifier: Apache-2.0 */
#include "replaced.h"
#include "small.h"
#include "torch.h"

__attribute__((visibility("default"))) bool sim_values_start(size_t limit);

/* Return whether values are computed. The caller sees to it that one thread is here. */
bool sim_values_start(size_t limit)
{
    static enum { NOT_MEASURED, GOOD, BAD } state;

    if (state == NOT_MEASURED)
        state = sim_measure_layout() ? GOOD : BAD;
    if (state == BAD)
        return false;
    sim_set_size_limit(limit);
    sim_replace_kernels(sim_replacement);
    sim_replace_coalesce();
    return true;
}
