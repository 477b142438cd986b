/* SPDX-License-Identifier: Apache-2.0 */
#include "context-end.h"

#include "../device/device.h"
#include "../memory/memory.h"
#include "module.h"

static void forget(int device)
{
    sim_modules_reset(device);
    sim_release_all(device);
}

void sim_primary_down(int device)
{
    sim_primary_end(device, forget);
}
