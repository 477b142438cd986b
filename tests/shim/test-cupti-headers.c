/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles only where CUPTI's numbers and structures, and those of the calls that it tells of, are
 * those of its headers. */
#include "cupti/calls.h"
#include "cupti/types.h"

#include <cupti.h>
#include <stddef.h>

#define CUPTI_CB_DOMAIN_DRIVER CUPTI_CB_DOMAIN_DRIVER_API
#define CUPTI_CB_DOMAIN_RUNTIME CUPTI_CB_DOMAIN_RUNTIME_API
#define NUMBER(domain, name, number, api, form)                                                    \
    _Static_assert(CUPTI_##domain##_TRACE_CBID_##name == (number), #name " has another number");   \
    _Static_assert((number) < MT_CUPTI_NUMBERS, #name " is beyond the table");                     \
    _Static_assert(MT_CUPTI_##domain == (int)CUPTI_CB_DOMAIN_##domain, "another domain");
MT_CUPTI_CALLS(NUMBER)

/* The headers have no structures for these. */
#define cudaDeviceReset_v3020_params struct mt_form_reset
#define cuMemHostAlloc_v2_params cuMemHostAlloc_params
#define SIZE(domain, name, number, api, form)                                                      \
    _Static_assert(sizeof(struct mt_form_##form) <= sizeof(name##_params) + 4,                     \
                   #name " has fewer parameters");
MT_CUPTI_CALLS(SIZE)

#define SAME(ours, member, theirs, of_theirs)                                                      \
    _Static_assert(offsetof(ours, member) == offsetof(theirs, of_theirs),                          \
                   #theirs "." #of_theirs " stands elsewhere")

_Static_assert(sizeof(CUptiResult) == sizeof(unsigned), "results have another size");
_Static_assert(MT_CUPTI_RESOURCE == (int)CUPTI_CB_DOMAIN_RESOURCE, "another domain");
_Static_assert(MT_CUPTI_ENTER == (int)CUPTI_API_ENTER, "another site");
_Static_assert(MT_CUPTI_EXIT == (int)CUPTI_API_EXIT, "another site");
_Static_assert(MT_CUPTI_IS_TAKEN == (int)CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
               "another error");
_Static_assert(MT_CUPTI_CONTEXT_CREATED == (int)CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
               "another number");
_Static_assert(MT_CUPTI_CONTEXT_DESTROYED == (int)CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
               "another number");
_Static_assert(MT_CUPTI_STREAM_CREATED == (int)CUPTI_CBID_RESOURCE_STREAM_CREATED,
               "another number");
_Static_assert(MT_CUPTI_STREAM_DESTROYED == (int)CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
               "another number");
_Static_assert(MT_CUPTI_MODULE_LOADED == (int)CUPTI_CBID_RESOURCE_MODULE_LOADED, "another number");
SAME(struct mt_cupti_call, site, CUpti_CallbackData, callbackSite);
SAME(struct mt_cupti_call, parameters, CUpti_CallbackData, functionParams);
SAME(struct mt_cupti_call, result, CUpti_CallbackData, functionReturnValue);
SAME(struct mt_cupti_call, context, CUpti_CallbackData, context);
SAME(struct mt_cupti_resource, context, CUpti_ResourceData, context);
SAME(struct mt_cupti_resource, resource, CUpti_ResourceData, resourceHandle);
SAME(struct mt_cupti_resource, descriptor, CUpti_ResourceData, resourceDescriptor);
SAME(struct mt_cupti_code, size, CUpti_ModuleResourceData, cubinSize);

/* One call of each form, and those of the driver that are not as the runtime's. */
SAME(struct mt_form_alloc, size, cudaMalloc_v3020_params, size);
SAME(struct mt_form_alloc, size, cudaHostAlloc_v3020_params, size);
SAME(struct mt_form_alloc, size, cuMemAlloc_v2_params, bytesize);
SAME(struct mt_form_alloc, size, cuMemHostAlloc_params, bytesize);
SAME(struct mt_form_async, stream, cudaMallocAsync_v11020_params, hStream);
SAME(struct mt_form_async, stream, cuMemAllocAsync_params, hStream);
SAME(struct mt_form_pool, stream, cudaMallocFromPoolAsync_v11020_params, stream);
SAME(struct mt_form_pool, stream, cuMemAllocFromPoolAsync_params, hStream);
SAME(struct mt_form_pitch, pitch, cudaMallocPitch_v3020_params, pitch);
SAME(struct mt_form_pitch, height, cudaMallocPitch_v3020_params, height);
SAME(struct mt_form_pitch, height, cuMemAllocPitch_v2_params, Height);
SAME(struct mt_form_box, extent, cudaMalloc3D_v3020_params, extent);
SAME(struct mt_form_array, texel, cudaMallocArray_v3020_params, desc);
SAME(struct mt_form_array, height, cudaMallocArray_v3020_params, height);
SAME(struct mt_form_array_3d, extent, cudaMalloc3DArray_v3020_params, extent);
SAME(struct mt_form_mipmapped, levels, cudaMallocMipmappedArray_v5000_params, numLevels);
SAME(struct mt_form_register, size, cudaHostRegister_v4000_params, size);
SAME(struct mt_form_register, size, cuMemHostRegister_v2_params, bytesize);
SAME(struct mt_form_import, address, cudaIpcOpenMemHandle_v4010_params, devPtr);
SAME(struct mt_form_import, address, cuIpcOpenMemHandle_v2_params, pdptr);
SAME(struct mt_form_import, address, cuMemImportFromShareableHandle_params, handle);
SAME(struct mt_form_import, address, cuMemRetainAllocationHandle_params, handle);
SAME(struct mt_form_buffer, buffer, cudaExternalMemoryGetMappedBuffer_v10000_params, bufferDesc);
SAME(struct mt_form_buffer, buffer, cuExternalMemoryGetMappedBuffer_params, bufferDesc);
SAME(struct mt_form_flat, wanted, cuArrayCreate_v2_params, pAllocateArray);
SAME(struct mt_form_deep, wanted, cuArray3DCreate_v2_params, pAllocateArray);
SAME(struct mt_form_deep_levels, levels, cuMipmappedArrayCreate_params, numMipmapLevels);
SAME(struct mt_form_physical, wanted, cuMemCreate_params, prop);
SAME(struct mt_form_map, handle, cuMemMap_params, handle);
SAME(struct mt_form_unmap, size, cuMemUnmap_params, size);
SAME(struct mt_form_team, wanted, cuMulticastCreate_params, prop);
SAME(struct mt_form_bind, size, cuMulticastBindMem_params, size);
SAME(struct mt_form_bind, handle, cuMulticastBindMem_params, memHandle);
SAME(struct mt_form_bind_address, size, cuMulticastBindAddr_params, size);
SAME(struct mt_form_unbind, device, cuMulticastUnbind_params, dev);
SAME(struct mt_form_unbind, size, cuMulticastUnbind_params, size);
SAME(struct mt_form_made, object, cuGreenCtxCreate_params, phCtx);
SAME(struct mt_form_free, address, cudaFree_v3020_params, devPtr);
SAME(struct mt_form_free, address, cuMemRelease_params, handle);
SAME(struct mt_form_free_async, stream, cudaFreeAsync_v11020_params, hStream);
SAME(struct mt_form_free_async, stream, cuMemFreeAsync_params, hStream);
SAME(struct mt_form_made, object, cuCtxCreate_v4_params, pctx);
SAME(struct mt_form_made_of, object, cuLibraryLoadData_params, library);
SAME(struct mt_form_made_of, image, cuLibraryLoadData_params, code);
SAME(struct mt_form_made_of, image, cudaLibraryLoadData_v12060_params, code);
SAME(struct mt_form_made_of, image, cuModuleLoadData_params, image);
SAME(struct mt_form_made_of, image, cuModuleLoadDataEx_params, image);
SAME(struct mt_form_made_of, image, cuModuleLoadFatBinary_params, fatCubin);
SAME(struct mt_form_made_by, path, cuModuleLoad_params, fname);
SAME(struct mt_form_made_by, path, cuLibraryLoadFromFile_params, fileName);
SAME(struct mt_form_made_by, path, cudaLibraryLoadFromFile_v12060_params, fileName);
SAME(struct mt_form_ending, handle, cuCtxDestroy_v2_params, ctx);
SAME(struct mt_form_ending, handle, cuLibraryUnload_params, library);
SAME(struct mt_form_ending_device, device, cuDevicePrimaryCtxRelease_v2_params, dev);

int main(void)
{
    return 0;
}
