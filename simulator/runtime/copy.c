/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "runtime.h"

static cudaError_t copy(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                        size_t width, size_t height, enum cudaMemcpyKind kind)
{
    static const enum sim_direction directions[] = {
        [cudaMemcpyHostToHost] = SIM_HOST_TO_HOST,
        [cudaMemcpyHostToDevice] = SIM_HOST_TO_DEVICE,
        [cudaMemcpyDeviceToHost] = SIM_DEVICE_TO_HOST,
        [cudaMemcpyDeviceToDevice] = SIM_DEVICE_TO_DEVICE,
        [cudaMemcpyDefault] = SIM_BY_ADDRESS,
    };
    int error = sim_enter();

    if (error)
        return runtime_error(error);
    if ((unsigned)kind >= sizeof(directions) / sizeof(directions[0]))
        return runtime_result(cudaErrorInvalidMemcpyDirection);
    return runtime_error(sim_copy(to, to_pitch, from, from_pitch, width, height, directions[kind]));
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind)
{
    return copy(to, size, from, size, size, 1, kind);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    (void)stream;
    return copy(to, size, from, size, size, 1, kind);
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, enum cudaMemcpyKind kind)
{
    return copy(to, to_pitch, from, from_pitch, width, height, kind);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    (void)stream;
    return copy(to, to_pitch, from, from_pitch, width, height, kind);
}

cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size)
{
    (void)to_device;
    (void)from_device;
    return copy(to, size, from, size, size, 1, cudaMemcpyDeviceToDevice);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t size, cudaStream_t stream)
{
    (void)to_device;
    (void)from_device;
    (void)stream;
    return copy(to, size, from, size, size, 1, cudaMemcpyDeviceToDevice);
}

cudaError_t cudaMemset(void *address, int value, size_t count)
{
    int error = sim_enter();

    return runtime_error(error ? error : sim_set(address, (unsigned)value, 1, count));
}

cudaError_t cudaMemsetAsync(void *address, int value, size_t count, cudaStream_t stream)
{
    int error = sim_enter();

    (void)stream;
    return runtime_error(error ? error : sim_set(address, (unsigned)value, 1, count));
}

static cudaError_t set_rows(void *address, size_t pitch, int value, size_t width, size_t height)
{
    int error = sim_enter();

    for (size_t row = 0; !error && row < height; row++)
        error = sim_set((char *)address + row * pitch, (unsigned)value, 1, width);
    return runtime_error(error);
}

cudaError_t cudaMemset2D(void *address, size_t pitch, int value, size_t width, size_t height)
{
    return set_rows(address, pitch, value, width, height);
}

cudaError_t cudaMemset2DAsync(void *address, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream)
{
    (void)stream;
    return set_rows(address, pitch, value, width, height);
}
