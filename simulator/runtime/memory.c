/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "api/calls.h"
#include "core/memory/vmm.h"
#include "core/process/module.h"
#include "core/streams/capture.h"
#include "core/streams/graph.h"
#include "runtime.h"

/* Clear the answer and bring up the context. */
static cudaError_t begin(void **out)
{
    int error = runtime_up();
    if (out)
        *out = NULL;
    return error ? (cudaError_t)error : runtime_result(out ? cudaSuccess : cudaErrorInvalidValue);
}

/* Allocate by a call of the driver, which refuses to allocate nothing; the runtime gives NULL. */
#define ALLOCATE(out, size, call)                                                                  \
    ({                                                                                             \
        cudaError_t error_ = begin(out);                                                           \
        error_ || !(size) ? error_ : (call);                                                       \
    })
#define DEVICE(out) ((CUdeviceptr *)(void *)(out))

cudaError_t cudaMalloc(void **out, size_t size)
{
    return RUNTIME_CALL(cudaMalloc_v3020, (out, size),
                        ALLOCATE(out, size, DRIVER(cuMemAlloc, DEVICE(out), size)));
}

cudaError_t cudaMallocManaged(void **out, size_t size, unsigned int flags)
{
    return RUNTIME_CALL(cudaMallocManaged_v6000, (out, size, flags),
                        ALLOCATE(out, size, DRIVER(cuMemAllocManaged, DEVICE(out), size, flags)));
}

static cudaError_t allocate_rows(void **out, size_t *pitch, size_t width, size_t height)
{
    if (!pitch)
        return runtime_result(cudaErrorInvalidValue);
    *pitch = 0;
    return ALLOCATE(out, width && height,
                    DRIVER(cuMemAllocPitch, DEVICE(out), pitch, width, height, 4));
}

cudaError_t cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height)
{
    return RUNTIME_CALL(cudaMallocPitch_v3020, (out, pitch, width, height),
                        allocate_rows(out, pitch, width, height));
}

static cudaError_t allocate_planes(struct cudaPitchedPtr *out, struct cudaExtent extent)
{
    size_t rows;
    if (!out || __builtin_mul_overflow(extent.height, extent.depth, &rows))
        return runtime_result(cudaErrorInvalidValue);
    out->xsize = extent.width;
    out->ysize = extent.height;
    return allocate_rows(&out->ptr, &out->pitch, extent.width, rows);
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *out, struct cudaExtent extent)
{
    return RUNTIME_CALL(cudaMalloc3D_v3020, (out, extent), allocate_planes(out, extent));
}

cudaError_t cudaHostAlloc(void **out, size_t size, unsigned int flags)
{
    return RUNTIME_CALL(cudaHostAlloc_v3020, (out, size, flags),
                        ALLOCATE(out, size, DRIVER(cuMemHostAlloc, out, size, flags)));
}

cudaError_t cudaMallocHost(void **out, size_t size)
{
    return RUNTIME_CALL(cudaMallocHost_v3020, (out, size),
                        ALLOCATE(out, size, DRIVER(cuMemHostAlloc, out, size, 0)));
}

/* Freeing nothing is fine, and brings up the context: programs call cudaFree(0) for that. */
#define RELEASE(address, call, nothing)                                                            \
    ({                                                                                             \
        cudaError_t error_ = (cudaError_t)runtime_up();                                            \
        error_ ? error_ : (address) ? (call) : (nothing);                                          \
    })

/* Free NULL: a capture forbids even that. */
static cudaError_t free_nothing(void)
{
    return runtime_result(sim_capture_forbids() ? cudaErrorStreamCaptureUnsupported : cudaSuccess);
}

cudaError_t cudaFree(void *address)
{
    return RUNTIME_CALL(
        cudaFree_v3020, (address),
        RELEASE(address, DRIVER(cuMemFree, (CUdeviceptr)(uintptr_t)address), free_nothing()));
}

cudaError_t cudaFreeHost(void *address)
{
    return RUNTIME_CALL(cudaFreeHost_v3020, (address),
                        RELEASE(address, DRIVER(cuMemFreeHost, address), cudaSuccess));
}

/* --- calls that CUPTI reports, and that are the driver's with the same arguments ------------- */

#define FORWARD(name, version, function, parameters, arguments)                                    \
    cudaError_t name parameters                                                                    \
    {                                                                                              \
        static void *_Atomic known;                                                                \
        __typeof__(&name) call =                                                                   \
            (__typeof__(&name))(uintptr_t)runtime_driver(#function, 0, &known);                    \
        int error = runtime_up();                                                                  \
                                                                                                   \
        return RUNTIME_CALL(name##_##version, arguments,                                           \
                            error ? (cudaError_t)error : runtime_result(call arguments));          \
    }

FORWARD(cudaHostRegister, v4000, cuMemHostRegister, (void *at, size_t size, unsigned int flags),
        (at, size, flags))
FORWARD(cudaHostUnregister, v4000, cuMemHostUnregister, (void *at), (at))
FORWARD(cudaMallocAsync, v11020, cuMemAllocAsync, (void **out, size_t size, cudaStream_t stream),
        (out, size, stream))
FORWARD(cudaMallocFromPoolAsync, v11020, cuMemAllocFromPoolAsync,
        (void **out, size_t size, cudaMemPool_t pool, cudaStream_t stream),
        (out, size, pool, stream))
FORWARD(cudaFreeAsync, v11020, cuMemFreeAsync, (void *at, cudaStream_t stream), (at, stream))
FORWARD(cudaMemPoolCreate, v11020, cuMemPoolCreate,
        (cudaMemPool_t * out, const struct cudaMemPoolProps *properties), (out, properties))
FORWARD(cudaMemPoolDestroy, v11020, cuMemPoolDestroy, (cudaMemPool_t pool), (pool))
FORWARD(cudaMemPoolTrimTo, v11020, cuMemPoolTrimTo, (cudaMemPool_t pool, size_t keep), (pool, keep))
FORWARD(cudaExternalMemoryGetMappedBuffer, v10000, cuExternalMemoryGetMappedBuffer,
        (void **out, cudaExternalMemory_t memory,
         const struct cudaExternalMemoryBufferDesc *buffer),
        (out, memory, buffer))
FORWARD(cudaIpcGetMemHandle, v4010, cuIpcGetMemHandle, (cudaIpcMemHandle_t * out, void *at),
        (out, at))
FORWARD(cudaIpcOpenMemHandle, v4010, cuIpcOpenMemHandle,
        (void **out, cudaIpcMemHandle_t handle, unsigned int flags), (out, handle, flags))
FORWARD(cudaIpcCloseMemHandle, v4010, cuIpcCloseMemHandle, (void *at), (at))

/* --- libraries of kernels: not by the driver, whose hooks would count the code again -----------
 */

static cudaError_t loaded(int error)
{
    return error == -ENOENT ? runtime_result(cudaErrorFileNotFound) : runtime_error(error);
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                enum cudaJitOption *options, void **values, unsigned int count,
                                enum cudaLibraryOption *library_options, void **library_values,
                                unsigned int library_count)
{
    return RUNTIME_CALL(
        cudaLibraryLoadData_v12060,
        (library, code, options, values, count, library_options, library_values, library_count),
        loaded(sim_module_load(code, (struct sim_module **)library)));
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *path,
                                    enum cudaJitOption *options, void **values, unsigned int count,
                                    enum cudaLibraryOption *library_options, void **library_values,
                                    unsigned int library_count)
{
    return RUNTIME_CALL(
        cudaLibraryLoadFromFile_v12060,
        (library, path, options, values, count, library_options, library_values, library_count),
        loaded(sim_module_load_file(path, (struct sim_module **)library)));
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
    return RUNTIME_CALL(cudaLibraryUnload_v12060, (library),
                        runtime_result(sim_module_unload((struct sim_module *)library)
                                           ? cudaErrorInvalidResourceHandle
                                           : cudaSuccess));
}

/* Launch. Profilers note a launch by either interface: so that it is one, call no driver. */
static cudaError_t launch(struct sim_graph *graph, cudaStream_t stream)
{
    struct sim_work work = {.type = SIM_NODE_GRAPH, .graph = graph};
    int error = graph ? sim_capture_add(sim_stream(stream), &work) : -EINVAL;
    error = error == -ENOENT ? sim_graph_launch(graph) : error;
    return error == -ECANCELED ? runtime_result(cudaErrorStreamCaptureInvalidated)
                               : runtime_error(error);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
    return RUNTIME_CALL(cudaGraphLaunch_v10000, (graph, stream),
                        launch((struct sim_graph *)graph, stream));
}

/* Open a handle of another process, by value: its bytes are the driver's. */
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *out, cudaIpcEventHandle_t handle)
{
    CUipcEventHandle same;
    int error = runtime_up();
    memcpy(&same, &handle, sizeof(same));
    return error ? (cudaError_t)error : DRIVER(cuIpcOpenEventHandle, out, same);
}

/* Return the runtime's type of known memory. */
static enum cudaMemoryType type_of(const struct sim_range *range)
{
    switch (range->kind) {
    case SIM_MANAGED:
        return cudaMemoryTypeManaged;
    case SIM_HOST:
    case SIM_REGISTERED:
        return cudaMemoryTypeHost;
    default:
        return cudaMemoryTypeDevice;
    }
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *address)
{
    void *pointer = (void *)(uintptr_t)address;
    struct sim_range range;
    uintptr_t start;
    size_t size;
    const struct cudaPointerAttributes unknown = {
        .type = cudaMemoryTypeUnregistered, .device = cudaInvalidDeviceId, .hostPointer = pointer};
    memcpy(attributes, &unknown, SIM_SIZE_OF(unknown, 24));
    if (!sim_find(address, &range))
        return cudaSuccess;
    if (range.kind == SIM_RESERVED && sim_mapping_at(address, &start, &size, &range.device))
        return cudaSuccess;
    attributes->type = type_of(&range);
    attributes->device = range.device;
    attributes->devicePointer = pointer;
    if (attributes->type == cudaMemoryTypeDevice)
        attributes->hostPointer = NULL;
    return cudaSuccess;
}
