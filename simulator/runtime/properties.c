/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "runtime.h"

/* The fields of cudaDeviceProp that are an attribute by another name. */
#define SAME_AS_ATTRIBUTE(X)                                                                       \
    X(sharedMemPerBlock, MaxSharedMemoryPerBlock)                                                  \
    X(regsPerBlock, MaxRegistersPerBlock)                                                          \
    X(warpSize, WarpSize)                                                                          \
    X(memPitch, MaxPitch)                                                                          \
    X(maxThreadsPerBlock, MaxThreadsPerBlock)                                                      \
    X(maxThreadsDim[0], MaxBlockDimX)                                                              \
    X(maxThreadsDim[1], MaxBlockDimY)                                                              \
    X(maxThreadsDim[2], MaxBlockDimZ)                                                              \
    X(maxGridSize[0], MaxGridDimX)                                                                 \
    X(maxGridSize[1], MaxGridDimY)                                                                 \
    X(maxGridSize[2], MaxGridDimZ)                                                                 \
    X(totalConstMem, TotalConstantMemory)                                                          \
    X(major, ComputeCapabilityMajor)                                                               \
    X(minor, ComputeCapabilityMinor)                                                               \
    X(textureAlignment, TextureAlignment)                                                          \
    X(texturePitchAlignment, TexturePitchAlignment)                                                \
    X(multiProcessorCount, MultiProcessorCount)                                                    \
    X(integrated, Integrated)                                                                      \
    X(canMapHostMemory, CanMapHostMemory)                                                          \
    X(maxTexture1D, MaxTexture1DWidth)                                                             \
    X(maxTexture2D[0], MaxTexture2DWidth)                                                          \
    X(maxTexture2D[1], MaxTexture2DHeight)                                                         \
    X(maxTexture3D[0], MaxTexture3DWidth)                                                          \
    X(maxTexture3D[1], MaxTexture3DHeight)                                                         \
    X(maxTexture3D[2], MaxTexture3DDepth)                                                          \
    X(surfaceAlignment, SurfaceAlignment)                                                          \
    X(concurrentKernels, ConcurrentKernels)                                                        \
    X(ECCEnabled, EccEnabled)                                                                      \
    X(pciBusID, PciBusId)                                                                          \
    X(pciDeviceID, PciDeviceId)                                                                    \
    X(pciDomainID, PciDomainId)                                                                    \
    X(tccDriver, TccDriver)                                                                        \
    X(asyncEngineCount, AsyncEngineCount)                                                          \
    X(unifiedAddressing, UnifiedAddressing)                                                        \
    X(memoryBusWidth, GlobalMemoryBusWidth)                                                        \
    X(l2CacheSize, L2CacheSize)                                                                    \
    X(persistingL2CacheMaxSize, MaxPersistingL2CacheSize)                                          \
    X(maxThreadsPerMultiProcessor, MaxThreadsPerMultiProcessor)                                    \
    X(streamPrioritiesSupported, StreamPrioritiesSupported)                                        \
    X(globalL1CacheSupported, GlobalL1CacheSupported)                                              \
    X(localL1CacheSupported, LocalL1CacheSupported)                                                \
    X(sharedMemPerMultiprocessor, MaxSharedMemoryPerMultiprocessor)                                \
    X(regsPerMultiprocessor, MaxRegistersPerMultiprocessor)                                        \
    X(managedMemory, ManagedMemory)                                                                \
    X(concurrentManagedAccess, ConcurrentManagedAccess)                                            \
    X(computePreemptionSupported, ComputePreemptionSupported)                                      \
    X(canUseHostPointerForRegisteredMem, CanUseHostPointerForRegisteredMem)                        \
    X(cooperativeLaunch, CooperativeLaunch)                                                        \
    X(sharedMemPerBlockOptin, MaxSharedMemoryPerBlockOptin)                                        \
    X(maxBlocksPerMultiProcessor, MaxBlocksPerMultiprocessor)                                      \
    X(accessPolicyMaxWindowSize, MaxAccessPolicyWindowSize)                                        \
    X(reservedSharedMemPerBlock, ReservedSharedMemoryPerBlock)                                     \
    X(hostRegisterSupported, HostRegisterSupported)                                                \
    X(memoryPoolsSupported, MemoryPoolsSupported)                                                  \
    X(ipcEventSupported, IpcEventSupport)                                                          \
    X(clusterLaunch, ClusterLaunch)

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int number)
{
    const struct sim_device *device = sim_device(number);

    if (!device)
        return runtime_result(cudaErrorInvalidDevice);
    memset(properties, 0, sizeof(*properties));
    snprintf(properties->name, sizeof(properties->name), "%s", device->gpu->product);
    sim_device_uuid(sim_device_ordinal(number), (unsigned char *)properties->uuid.bytes);
    properties->totalGlobalMem = device->total;
#define COPY(field, attribute)                                                                     \
    properties->field =                                                                            \
        (__typeof__(properties->field))sim_device_attribute(device, cudaDevAttr##attribute);
    SAME_AS_ATTRIBUTE(COPY)
    properties->deviceNumaId = -1;
    return cudaSuccess;
}
