/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_RUNTIME_H
#define SIM_RUNTIME_H

#include <cuda_runtime_api.h>

#include "core/core.h"

/* The simulated CUDA version; what CUDASIM_VERSION says of the driver may be higher. */
enum { SIM_RUNTIME_VERSION = 13020 };

/* Returns the code and keeps it as the thread's last error if it is one. */
static inline cudaError_t runtime_result(cudaError_t code)
{
    if (__builtin_expect(code != cudaSuccess, 0))
        sim_thread.error = (int)code;
    return code;
}

/* The same for what the core returned: a negative errno. */
cudaError_t runtime_error(int error);

/* The current device with its context up; *device is it. */
cudaError_t runtime_enter(struct sim_device **device);

#endif
