/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and fills: done at once, or kept for the graph that the stream captures. */
#include <errno.h>

#include "api/graph.h"
#include "copy.h"
#include "core/streams/capture.h"

/* Set *direction by the kind. 0 or a negative errno. */
static int read_kind(enum cudaMemcpyKind kind, enum sim_direction *direction)
{
    static const enum sim_direction directions[] = {
        [cudaMemcpyHostToHost] = SIM_HOST_TO_HOST,
        [cudaMemcpyHostToDevice] = SIM_HOST_TO_DEVICE,
        [cudaMemcpyDeviceToHost] = SIM_DEVICE_TO_HOST,
        [cudaMemcpyDeviceToDevice] = SIM_DEVICE_TO_DEVICE,
        [cudaMemcpyDefault] = SIM_BY_ADDRESS,
    };

    if ((unsigned)kind >= sizeof(directions) / sizeof(directions[0]))
        return -EDOM;
    *direction = directions[kind];
    return 0;
}

cudaError_t runtime_copy(struct sim_copy3d *copy, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    struct sim_work work = {.type = SIM_NODE_COPY};
    int error = sim_enter();

    if (error)
        return runtime_error(error);
    if (read_kind(kind, &copy->direction))
        return runtime_result(cudaErrorInvalidMemcpyDirection);
    if (sim_captures(stream)) {
        work.copy = *copy;
        error = sim_capture_add(sim_stream(stream), &work);
        if (error != -ENOENT)
            return runtime_error(error);
    }
    return runtime_error(sim_copy_3d(copy));
}

cudaError_t runtime_copy_now(struct sim_copy3d *copy, enum cudaMemcpyKind kind)
{
    if (sim_capture_forbids())
        return runtime_result(cudaErrorStreamCaptureUnsupported);
    return runtime_copy(copy, kind, NULL);
}

/* Most copies are plain bytes: the short way when nothing is captured. */
static cudaError_t copy_bytes(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    struct sim_copy3d copy = sim_copy_rows(to, size, from, size, size, 1, SIM_BY_ADDRESS);

    return runtime_copy(&copy, kind, stream);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind)
{
    struct sim_copy3d copy = sim_copy_rows(to, size, from, size, size, 1, SIM_BY_ADDRESS);

    return runtime_copy_now(&copy, kind);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    return copy_bytes(to, from, size, kind, stream);
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, enum cudaMemcpyKind kind)
{
    struct sim_copy3d copy =
        sim_copy_rows(to, to_pitch, from, from_pitch, width, height, SIM_BY_ADDRESS);

    return runtime_copy_now(&copy, kind);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    struct sim_copy3d copy =
        sim_copy_rows(to, to_pitch, from, from_pitch, width, height, SIM_BY_ADDRESS);

    return runtime_copy(&copy, kind, stream);
}

cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size)
{
    (void)to_device;
    (void)from_device;
    return copy_bytes(to, from, size, cudaMemcpyDeviceToDevice, NULL);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t size, cudaStream_t stream)
{
    (void)to_device;
    (void)from_device;
    return copy_bytes(to, from, size, cudaMemcpyDeviceToDevice, stream);
}

#if SIM_CUDA >= 13 /* CUDA 12's has other parameters */
cudaError_t cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *sizes,
                                 size_t count, struct cudaMemcpyAttributes *attributes,
                                 size_t *attribute_starts, size_t attribute_count,
                                 cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;

    (void)attributes;
    (void)attribute_starts;
    (void)attribute_count;
    for (size_t i = 0; !error && i < count; i++)
        error = copy_bytes(to[i], from[i], sizes[i], cudaMemcpyDefault, stream);
    return error;
}
#endif

/* --- fills ------------------------------------------------------------------------------- */

static cudaError_t fill(void *to, size_t pitch, int value, size_t width, size_t height,
                        cudaStream_t stream)
{
    struct sim_work work = {.type = SIM_NODE_FILL};
    int error = sim_enter();

    if (!error && sim_captures(stream)) {
        work.fill = (struct sim_fill){to, pitch, (unsigned)value, 1, width, height};
        error = sim_capture_add(sim_stream(stream), &work);
        if (error != -ENOENT)
            return runtime_error(error);
        error = 0;
    }
    for (size_t row = 0; !error && row < height; row++)
        error = sim_set((char *)to + row * pitch, (unsigned)value, 1, width);
    return runtime_error(error);
}

cudaError_t cudaMemset(void *address, int value, size_t count)
{
    return fill(address, count, value, count, 1, NULL);
}

cudaError_t cudaMemsetAsync(void *address, int value, size_t count, cudaStream_t stream)
{
    return fill(address, count, value, count, 1, stream);
}

cudaError_t cudaMemset2D(void *address, size_t pitch, int value, size_t width, size_t height)
{
    return fill(address, pitch, value, width, height, NULL);
}

cudaError_t cudaMemset2DAsync(void *address, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream)
{
    return fill(address, pitch, value, width, height, stream);
}

static cudaError_t fill_planes(struct cudaPitchedPtr to, int value, struct cudaExtent extent,
                               cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;

    for (size_t z = 0; !error && z < extent.depth; z++)
        error = fill((char *)to.ptr + z * to.pitch * to.ysize, to.pitch, value, extent.width,
                     extent.height, stream);
    return error;
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent)
{
    return fill_planes(to, value, extent, NULL);
}

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr to, int value, struct cudaExtent extent,
                              cudaStream_t stream)
{
    return fill_planes(to, value, extent, stream);
}
