/* SPDX-License-Identifier: Apache-2.0 */
/* Access between devices: on one machine, each can reach the others' memory once this is
 * enabled. */
#include <stdatomic.h>

#include "driver.h"

enum { ALREADY_ENABLED = 704, NOT_ENABLED = 705 };
enum { ACCESS_SUPPORTED = 2 }; /* of the attributes of a pair */

static bool are_pair(int device, int peer)
{
    return sim_device(device) && sim_device(peer);
}

CUresult cuDeviceCanAccessPeer(int *can, int device, int peer)
{
    if (!are_pair(device, peer))
        return CUDA_ERROR_INVALID_DEVICE;
    *can = device != peer;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, int device, int peer)
{
    if (!are_pair(device, peer) || device == peer)
        return CUDA_ERROR_INVALID_DEVICE;
    *value = (int)attribute == ACCESS_SUPPORTED;
    return CUDA_SUCCESS;
}

/* Enable or disable access: one bit for each peer. */
static int change(int device, int peer, bool enable)
{
    uint32_t bit = (uint32_t)1 << peer, old;
    if (enable)
        old = atomic_fetch_or(&sim_device(device)->peers, bit);
    else
        old = atomic_fetch_and(&sim_device(device)->peers, ~bit);
    if (!(old & bit) == enable)
        return CUDA_SUCCESS;
    return enable ? ALREADY_ENABLED : NOT_ENABLED;
}

static CUresult change_context(CUcontext handle, bool enable)
{
    const struct sim_context *peer = (const struct sim_context *)handle;
    CUresult result = driver_enter();
    if (result)
        return result;
    if (!peer || peer->device == sim_thread.device)
        return CUDA_ERROR_INVALID_CONTEXT;
    return (CUresult)change(sim_thread.device, peer->device, enable);
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
    return flags ? CUDA_ERROR_INVALID_VALUE : change_context(peer, true);
}

CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
    return change_context(peer, false);
}
