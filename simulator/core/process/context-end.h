/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a context and of everything in it. */
#ifndef SIM_CONTEXT_END_H
#define SIM_CONTEXT_END_H

#include "../base/base.h"

/* Take down a device's primary context and everything that was allocated on the device. */
SIM_API void sim_primary_down(int device);

#endif
