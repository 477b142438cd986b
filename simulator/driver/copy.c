/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and fills: done at once, or kept for the graph that the stream captures. */
#include "copy.h"

#include <errno.h>

#include "core/streams/capture.h"

CUresult driver_copy(const struct sim_copy3d *copy, CUstream stream)
{
    struct sim_work work = {.type = SIM_NODE_COPY};
    CUresult result = driver_enter();
    int error;

    if (result)
        return result;
    if (sim_captures(stream)) {
        work.copy = *copy;
        error = sim_capture_add(sim_stream(stream), &work);
        if (error != -ENOENT)
            return driver_result(error);
    }
    return driver_result(sim_copy_3d(copy));
}

CUresult driver_copy_now(const struct sim_copy3d *copy)
{
    if (sim_capture_forbids())
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return driver_copy(copy, NULL);
}

static struct sim_copy3d bytes(void *to, const void *from, size_t size,
                               enum sim_direction direction)
{
    return sim_copy_rows(to, size, from, size, size, 1, direction);
}

/* A copy at once and one on a stream; to and from: the two addresses, as the core has them. */
#define COPIES(name, to_type, from_type, to_address, from_address, direction)                      \
    CUresult name(to_type to, from_type from, size_t size)                                         \
    {                                                                                              \
        struct sim_copy3d copy = bytes(to_address, from_address, size, direction);                 \
        return driver_copy_now(&copy);                                                             \
    }                                                                                              \
    CUresult name##Async(to_type to, from_type from, size_t size, CUstream stream)                 \
    {                                                                                              \
        struct sim_copy3d copy = bytes(to_address, from_address, size, direction);                 \
        return driver_copy(&copy, stream);                                                         \
    }
COPIES(cuMemcpy, CUdeviceptr, CUdeviceptr, driver_pointer(to), driver_pointer(from), SIM_BY_ADDRESS)
COPIES(cuMemcpyHtoD, CUdeviceptr, const void *, driver_pointer(to), from, SIM_HOST_TO_DEVICE)
COPIES(cuMemcpyDtoH, void *, CUdeviceptr, to, driver_pointer(from), SIM_DEVICE_TO_HOST)
COPIES(cuMemcpyDtoD, CUdeviceptr, CUdeviceptr, driver_pointer(to), driver_pointer(from),
       SIM_DEVICE_TO_DEVICE)

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                      CUcontext from_context, size_t size)
{
    (void)to_context;
    (void)from_context;
    return cuMemcpyDtoD(to, from, size);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t size, CUstream stream)
{
    (void)to_context;
    (void)from_context;
    return cuMemcpyDtoDAsync(to, from, size, stream);
}

/* --- fills ------------------------------------------------------------------------------- */

static CUresult set(CUdeviceptr to, size_t pitch, unsigned value, size_t element, size_t width,
                    size_t height, CUstream stream)
{
    struct sim_work work = {.type = SIM_NODE_FILL};
    CUresult result = driver_enter();
    int error = -ENOENT;

    if (result)
        return result;
    work.fill =
        (struct sim_fill){driver_pointer(to), pitch, value, (unsigned)element, width, height};
    if (sim_captures(stream))
        error = sim_capture_add(sim_stream(stream), &work);
    if (error != -ENOENT)
        return driver_result(error);
    error = 0;
    for (size_t row = 0; !error && row < height; row++)
        error = sim_set((char *)work.fill.to + row * pitch, value, element, width);
    return driver_result(error);
}

/* The fills of elements of so many bits: of some or of rows, at once or on a stream. */
#define FILLS(bits, type)                                                                          \
    CUresult cuMemsetD##bits(CUdeviceptr to, type value, size_t count)                             \
    {                                                                                              \
        return set(to, 0, value, (bits) / 8, count, 1, NULL);                                      \
    }                                                                                              \
    CUresult cuMemsetD##bits##Async(CUdeviceptr to, type value, size_t count, CUstream stream)     \
    {                                                                                              \
        return set(to, 0, value, (bits) / 8, count, 1, stream);                                    \
    }                                                                                              \
    CUresult cuMemsetD2D##bits(CUdeviceptr to, size_t pitch, type value, size_t width,             \
                               size_t height)                                                      \
    {                                                                                              \
        return set(to, pitch, value, (bits) / 8, width, height, NULL);                             \
    }                                                                                              \
    CUresult cuMemsetD2D##bits##Async(CUdeviceptr to, size_t pitch, type value, size_t width,      \
                                      size_t height, CUstream stream)                              \
    {                                                                                              \
        return set(to, pitch, value, (bits) / 8, width, height, stream);                           \
    }
FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned int)
