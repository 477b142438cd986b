/* SPDX-License-Identifier: Apache-2.0 */
/* Small values: libcudasim-values.so computes them, and is loaded when PyTorch is used. */
#ifndef SIM_VALUES_H
#define SIM_VALUES_H

#include "../base/base.h"

/* Load it, unless CUDASIM_VALUES is 0; after new code let it look at PyTorch's operators again.
 * Called before PyTorch uses a block of a device. Without PyTorch it does nothing yet. */
SIM_API void sim_start_values(void);
/* A library with kernels was loaded: it may bring operators. */
SIM_API void sim_values_new_code(void);

#endif
