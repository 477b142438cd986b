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

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size)
{
    struct sim_copy3d copy = bytes(driver_pointer(to), driver_pointer(from), size, SIM_BY_ADDRESS);

    return driver_copy_now(&copy);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
    struct sim_copy3d copy = bytes(driver_pointer(to), driver_pointer(from), size, SIM_BY_ADDRESS);

    return driver_copy(&copy, stream);
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t size)
{
    struct sim_copy3d copy = bytes(driver_pointer(to), from, size, SIM_HOST_TO_DEVICE);

    return driver_copy_now(&copy);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t size, CUstream stream)
{
    struct sim_copy3d copy = bytes(driver_pointer(to), from, size, SIM_HOST_TO_DEVICE);

    return driver_copy(&copy, stream);
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t size)
{
    struct sim_copy3d copy = bytes(to, driver_pointer(from), size, SIM_DEVICE_TO_HOST);

    return driver_copy_now(&copy);
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t size, CUstream stream)
{
    struct sim_copy3d copy = bytes(to, driver_pointer(from), size, SIM_DEVICE_TO_HOST);

    return driver_copy(&copy, stream);
}

CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t size)
{
    struct sim_copy3d copy =
        bytes(driver_pointer(to), driver_pointer(from), size, SIM_DEVICE_TO_DEVICE);

    return driver_copy_now(&copy);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
    struct sim_copy3d copy =
        bytes(driver_pointer(to), driver_pointer(from), size, SIM_DEVICE_TO_DEVICE);

    return driver_copy(&copy, stream);
}

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

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count)
{
    return set(to, 0, value, 1, count, 1, NULL);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    return set(to, 0, value, 1, count, 1, stream);
}

CUresult cuMemsetD2D8(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                      size_t height)
{
    return set(to, pitch, value, 1, width, height, NULL);
}

CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                           size_t height, CUstream stream)
{
    return set(to, pitch, value, 1, width, height, stream);
}

CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, size_t count)
{
    return set(to, 0, value, 2, count, 1, NULL);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream)
{
    return set(to, 0, value, 2, count, 1, stream);
}

CUresult cuMemsetD2D16(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                       size_t height)
{
    return set(to, pitch, value, 2, width, height, NULL);
}

CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                            size_t height, CUstream stream)
{
    return set(to, pitch, value, 2, width, height, stream);
}

CUresult cuMemsetD32(CUdeviceptr to, unsigned int value, size_t count)
{
    return set(to, 0, value, 4, count, 1, NULL);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream)
{
    return set(to, 0, value, 4, count, 1, stream);
}

CUresult cuMemsetD2D32(CUdeviceptr to, size_t pitch, unsigned int value, size_t width,
                       size_t height)
{
    return set(to, pitch, value, 4, width, height, NULL);
}

CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned int value, size_t width,
                            size_t height, CUstream stream)
{
    return set(to, pitch, value, 4, width, height, stream);
}
