/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_DRIVER_H
#define SIM_DRIVER_H

#include <cuda.h>

#include "core/device/device.h"
#include "core/memory/content.h"
#include "core/memory/memory.h"
#include "core/streams/stream.h"

enum { SIM_DRIVER_VERSION = 13020 };

/* Convert the core's result (a negative errno) to the driver's code. */
CUresult driver_result(int error);

/* Check that there is a current context: the driver does not bind one itself. */
static inline CUresult driver_enter(void)
{
    return sim_thread.context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static inline void *driver_pointer(CUdeviceptr address)
{
    return (void *)(uintptr_t)address;
}

/*
 * Find the function with this base name for a program of this CUDA version. *out is NULL if there
 * is none; *status says why.
 */
CUresult driver_find(const char *name, void **out, int version,
                     CUdriverProcAddressQueryResult *status);

#endif
