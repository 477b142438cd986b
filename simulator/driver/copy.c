/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

static CUresult copy(void *to, const void *from, size_t size, enum sim_direction direction)
{
    CUresult result = driver_enter();

    return result ? result : driver_result(sim_copy(to, size, from, size, size, 1, direction));
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size)
{
    return copy(driver_pointer(to), driver_pointer(from), size, SIM_BY_ADDRESS);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
    (void)stream;
    return copy(driver_pointer(to), driver_pointer(from), size, SIM_BY_ADDRESS);
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t size)
{
    return copy(driver_pointer(to), from, size, SIM_HOST_TO_DEVICE);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t size, CUstream stream)
{
    (void)stream;
    return copy(driver_pointer(to), from, size, SIM_HOST_TO_DEVICE);
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t size)
{
    return copy(to, driver_pointer(from), size, SIM_DEVICE_TO_HOST);
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t size, CUstream stream)
{
    (void)stream;
    return copy(to, driver_pointer(from), size, SIM_DEVICE_TO_HOST);
}

CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t size)
{
    return copy(driver_pointer(to), driver_pointer(from), size, SIM_DEVICE_TO_DEVICE);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
    (void)stream;
    return copy(driver_pointer(to), driver_pointer(from), size, SIM_DEVICE_TO_DEVICE);
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                      CUcontext from_context, size_t size)
{
    (void)to_context;
    (void)from_context;
    return copy(driver_pointer(to), driver_pointer(from), size, SIM_DEVICE_TO_DEVICE);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t size, CUstream stream)
{
    (void)to_context;
    (void)from_context;
    (void)stream;
    return copy(driver_pointer(to), driver_pointer(from), size, SIM_DEVICE_TO_DEVICE);
}

static CUresult set(CUdeviceptr to, unsigned value, size_t element, size_t count)
{
    CUresult result = driver_enter();

    return result ? result : driver_result(sim_set(driver_pointer(to), value, element, count));
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count)
{
    return set(to, value, 1, count);
}

CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, size_t count)
{
    return set(to, value, 2, count);
}

CUresult cuMemsetD32(CUdeviceptr to, unsigned int value, size_t count)
{
    return set(to, value, 4, count);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    (void)stream;
    return set(to, value, 1, count);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream)
{
    (void)stream;
    return set(to, value, 2, count);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream)
{
    (void)stream;
    return set(to, value, 4, count);
}
