/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_RUNTIME_H
#define SIM_RUNTIME_H

/*
 * SIM_CUDA is the major version that this build of the library implements. The code uses the newest
 * headers. Functions with another name in CUDA 12 are renamed here; functions with other parameters
 * are in cuda12.c.
 */
#if SIM_CUDA < 13
#define cudaGetDeviceProperties cudaGetDeviceProperties_v2
#define cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_v3
#define cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_v2
#define cudaGraphGetEdges cudaGraphGetEdges_v2
#define cudaGraphNodeGetDependencies cudaGraphNodeGetDependencies_v2
#define cudaGraphNodeGetDependentNodes cudaGraphNodeGetDependentNodes_v2
#define cudaGraphAddDependencies cudaGraphAddDependencies_v2
#define cudaGraphRemoveDependencies cudaGraphRemoveDependencies_v2
#define cudaGraphAddNode cudaGraphAddNode_v2
#endif

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "core/device/device.h"
#include "core/memory/content.h"
#include "core/memory/memory.h"
#include "core/streams/stream.h"
#include "driver-calls.h"

/* The simulated versions: a runtime of the last CUDA 12 works on the same driver. */
/* The size of a structure that is larger in CUDA 13: beyond that of CUDA 12, a program's is not. */
#define SIM_SIZE_OF(structure, in_12) (SIM_CUDA < 13 ? (in_12) : sizeof(structure))

enum { SIM_DRIVER_VERSION = 13020, SIM_RUNTIME_VERSION = SIM_CUDA < 13 ? 12080 : 13020 };

/* Return the code and keep it as the thread's last error if it is one. */
static inline cudaError_t runtime_result(cudaError_t code)
{
    if (SIM_UNLIKELY(code != cudaSuccess))
        sim_thread.error = (int)code;
    return code;
}

/* Call the driver's function, by the name that programs write, and keep its error. */
#define DRIVER(function, ...)                                                                      \
    runtime_result(({                                                                              \
        static void *_Atomic known_;                                                               \
        (cudaError_t)((__typeof__(&function))runtime_driver(#function, 0, &known_))(__VA_ARGS__);  \
    }))

/* Return the error for the core's result, a negative errno. */
cudaError_t runtime_error(int error);

/* Bring up the current device's context; *device is the device. */
cudaError_t runtime_enter(struct sim_device **device);

#endif
