/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "runtime.h"

/* Both versions of cudaDeviceProp begin alike; most of the rest lies elsewhere. */
_Static_assert(offsetof(struct cudaDeviceProp, totalGlobalMem) == 288, "as in CUDA 12");

#if SIM_CUDA < 13
enum { PROPERTIES_SIZE = 1032 };
#define OFFSET(field, offset12) (offset12)
#define SIM_PROPERTY_12(attribute, offset12) {cudaDevAttr##attribute, (offset12), sizeof(int)},
#else
enum { PROPERTIES_SIZE = sizeof(struct cudaDeviceProp) };
#define OFFSET(field, offset12) offsetof(struct cudaDeviceProp, field)
#define SIM_PROPERTY_12(attribute, offset12)
#endif
#define SIM_PROPERTY(field, attribute, offset12)                                                   \
    {cudaDevAttr##attribute, OFFSET(field, offset12),                                              \
     sizeof(((struct cudaDeviceProp *)NULL)->field)},

static const struct {
    short attribute, offset, size;
} fields[] = {
#include "properties.def"
};

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int number)
{
    const struct sim_device *device = sim_device(number);
    if (!device)
        return runtime_result(cudaErrorInvalidDevice);
    memset((void *)properties, 0, PROPERTIES_SIZE);
    snprintf(properties->name, sizeof(properties->name), "%s", device->gpu->product);
    sim_device_uuid(sim_device_ordinal(number), (unsigned char *)properties->uuid.bytes);
    properties->totalGlobalMem = device->total;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        int64_t value = sim_device_attribute(device, fields[i].attribute);
        memcpy((char *)properties + fields[i].offset, &value, (size_t)fields[i].size);
    }
#if SIM_CUDA >= 13
    properties->deviceNumaId = -1;
#endif
    return cudaSuccess;
}
