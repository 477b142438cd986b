/* SPDX-License-Identifier: Apache-2.0 */
/* Textures and surfaces: handles that keep their description. */
#include <stdlib.h>
#include <string.h>

#ifdef SIM_DRIVER
#include "driver/driver.h"

typedef CUresult api_result;
#define api_code(code) ((CUresult)(code))
typedef CUDA_RESOURCE_DESC api_resource;
typedef CUDA_TEXTURE_DESC api_texture;
typedef CUDA_RESOURCE_VIEW_DESC api_view;
typedef CUtexObject api_texture_object;
typedef CUsurfObject api_surface_object;
#define TEXTURE(verb, rest) cuTexObject##verb##rest
#define SURFACE(verb, rest) cuSurfObject##verb##rest
enum { RESOURCE_SIZE = sizeof(api_resource), VIEW_SIZE = sizeof(api_view) };
#else
#include "runtime/runtime.h"

typedef cudaError_t api_result;
#define api_code(code) runtime_result((cudaError_t)(code))
typedef struct cudaResourceDesc api_resource;
typedef struct cudaTextureDesc api_texture;
typedef struct cudaResourceViewDesc api_view;
typedef cudaTextureObject_t api_texture_object;
typedef cudaSurfaceObject_t api_surface_object;
#define TEXTURE(verb, rest) cuda##verb##TextureObject##rest
#define SURFACE(verb, rest) cuda##verb##SurfaceObject##rest
enum { RESOURCE_SIZE = SIM_SIZE_OF(api_resource, 64), VIEW_SIZE = SIM_SIZE_OF(api_view, 48) };
#endif

/* Codes that both have under other names. */
enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2 };

struct object {
    api_resource resource;
    api_texture texture;
    api_view view;
    bool has_view;
};

static api_result create(unsigned long long *out, const api_resource *resource,
                         const api_texture *texture, const api_view *view)
{
    if (!out || !resource)
        return api_code(INVALID_VALUE);
    struct object *object = calloc(1, sizeof(*object));
    if (!object)
        return api_code(OUT_OF_MEMORY);
    memcpy(&object->resource, resource, RESOURCE_SIZE);
    if (texture)
        object->texture = *texture;
    object->has_view = view;
    if (view)
        memcpy(&object->view, view, VIEW_SIZE);
    *out = (uintptr_t)object;
    return api_code(SUCCESS);
}

static struct object *object_of(unsigned long long handle)
{
    return (struct object *)(uintptr_t)handle;
}

api_result TEXTURE(Create, )(api_texture_object *out, const api_resource *resource,
                             const api_texture *texture, const api_view *view)
{
    return texture ? create(out, resource, texture, view) : api_code(INVALID_VALUE);
}

api_result TEXTURE(Destroy, )(api_texture_object handle)
{
    free(object_of(handle));
    return api_code(SUCCESS);
}

api_result TEXTURE(Get, ResourceDesc)(api_resource *resource, api_texture_object handle)
{
    if (!resource || !handle)
        return api_code(INVALID_VALUE);
    memcpy(resource, &object_of(handle)->resource, RESOURCE_SIZE);
    return api_code(SUCCESS);
}

api_result TEXTURE(Get, TextureDesc)(api_texture *texture, api_texture_object handle)
{
    if (!texture || !handle)
        return api_code(INVALID_VALUE);
    *texture = object_of(handle)->texture;
    return api_code(SUCCESS);
}

api_result TEXTURE(Get, ResourceViewDesc)(api_view *view, api_texture_object handle)
{
    if (!view || !handle || !object_of(handle)->has_view)
        return api_code(INVALID_VALUE);
    memcpy(view, &object_of(handle)->view, VIEW_SIZE);
    return api_code(SUCCESS);
}

api_result SURFACE(Create, )(api_surface_object *out, const api_resource *resource)
{
    return create(out, resource, NULL, NULL);
}

api_result SURFACE(Destroy, )(api_surface_object handle)
{
    free(object_of(handle));
    return api_code(SUCCESS);
}

api_result SURFACE(Get, ResourceDesc)(api_resource *resource, api_surface_object handle)
{
    if (!resource || !handle)
        return api_code(INVALID_VALUE);
    memcpy(resource, &object_of(handle)->resource, RESOURCE_SIZE);
    return api_code(SUCCESS);
}
