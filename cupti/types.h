/* SPDX-License-Identifier: Apache-2.0 */
/* Structures and numbers of CUPTI and its callbacks, as far as needed: the build does not require
 * CUPTI's headers. tests/shim/test-cupti-headers.c compares the two. */
#ifndef MT_CUPTI_TYPES_H
#define MT_CUPTI_TYPES_H

#include "preload/hooks/cuda-types.h"

#include <stdint.h>

enum { MT_CUPTI_DRIVER = 1, MT_CUPTI_RUNTIME = 2, MT_CUPTI_RESOURCE = 3 }; /* domains */
enum { MT_CUPTI_ENTER = 0, MT_CUPTI_EXIT = 1 };
enum { /* resources */
       MT_CUPTI_CONTEXT_CREATED = 1,
       MT_CUPTI_CONTEXT_DESTROYED = 2,
       MT_CUPTI_STREAM_CREATED = 3,
       MT_CUPTI_STREAM_DESTROYED = 4,
       MT_CUPTI_MODULE_LOADED = 6,
};
enum { MT_CUPTI_IS_TAKEN = 39 }; /* a result */

struct mt_cupti_call { /* CUpti_CallbackData */
    unsigned site;
    const char *function;
    const void *parameters;
    const unsigned *result;
    const char *symbol;
    void *context;
    uint32_t context_number;
    uint64_t *own;
    uint32_t number;
};

struct mt_cupti_resource { /* CUpti_ResourceData */
    void *context;
    void *resource; /* a stream */
    const void *descriptor;
};

struct mt_cupti_code { /* CUpti_ModuleResourceData: a CUDA module that comes to a device */
    uint32_t number;
    size_t size;
};

/* The forms of calls: F(form, kind, members, record). members: a call's parameters in order,
 * without trailing ones that are not needed. kind: OBJECT for a call that creates or destroys a
 * context or a CUDA module, which is recorded even within another call; else CALL. record: what is
 * recorded of a call, whose parameters are at *at (hear.c). */
/* clang-format off */
#define MT_CUPTI_FORMS(F)                                                                          \
    F(alloc, CALL, (const void *address; size_t size;), ALLOCATED(at->address, at->size))          \
    F(async, CALL, (const void *address; size_t size; void *stream;),                              \
      ALLOCATED_ASYNC(at->address, at->size, at->stream))                                          \
    F(pool, CALL, (const void *address; size_t size; void *pool, *stream;),                        \
      ALLOCATED_ASYNC(at->address, at->size, at->stream))                                          \
    F(pitch, CALL, (const void *address; const size_t *pitch; size_t width, height;),              \
      ALLOCATED(at->address, (moment->result ? at->width : *at->pitch) * at->height))              \
    F(box, CALL, (const struct mt_pitched *out; struct mt_extent extent;),                         \
      ALLOCATED(&at->out->address, (moment->result ? at->extent.width : at->out->pitch)            \
        * at->extent.height * at->extent.depth))                                                   \
    F(array, CALL, (const void *array; const struct mt_texel *texel; size_t width, height;),       \
      ALLOCATED(at->array, mt_cuda_array_bytes(at->texel, (struct mt_extent){at->width,            \
        at->height, 0}, 1)))                                                                       \
    F(array_3d, CALL, (const void *array; const struct mt_texel *texel; struct mt_extent extent;), \
      ALLOCATED(at->array, mt_cuda_array_bytes(at->texel, at->extent, 1)))                         \
    F(mipmapped, CALL, (const void *array; const struct mt_texel *texel;                           \
       struct mt_extent extent; unsigned levels;),                                                 \
      ALLOCATED(at->array, mt_cuda_array_bytes(at->texel, at->extent, at->levels)))                \
    F(register, CALL, (void *address; size_t size;), ALLOCATED(&at->address, at->size))            \
    F(import, CALL, (const void *address;), ALLOCATED(at->address, 0))                             \
    F(buffer, CALL, (const void *address; void *external;                                          \
       const struct mt_external_buffer *buffer;),                                                  \
      ALLOCATED(at->address, moment->result ? 0 : at->buffer->size))                               \
    F(flat, CALL, (const void *array; const struct mt_array *wanted;),                             \
      ALLOCATED(at->array, mt_cuda_flat_bytes(at->wanted)))                                        \
    F(deep, CALL, (const void *array; const struct mt_array_3d *wanted;),                          \
      ALLOCATED(at->array, mt_cuda_deep_bytes(at->wanted, 1)))                                     \
    F(deep_levels, CALL, (const void *array; const struct mt_array_3d *wanted; unsigned levels;),  \
      ALLOCATED(at->array, mt_cuda_deep_bytes(at->wanted, at->levels)))                            \
    F(physical, CALL, (const void *handle; size_t size;                                            \
       const struct mt_physical_properties *wanted;),                                              \
      ALLOCATED_PHYSICAL(at->wanted, at->handle, at->size))                                        \
    F(map, CALL, (uint64_t address; size_t size, offset; uint64_t handle;),                        \
      MAPPED(at->address, at->size, at->handle))                                                   \
    F(unmap, CALL, (uint64_t address; size_t size;), UNMAPPED(at->address, at->size))              \
    F(team, CALL, (const void *object; const struct mt_multicast *wanted;),                        \
      ALLOCATED_ON(-1, at->object, at->wanted ? at->wanted->size : 0))                             \
    F(bind, CALL, (uint64_t object; size_t at; uint64_t handle; size_t offset, size;),             \
      BOUND(at->object + at->at, at->size, at->handle))                                            \
    F(bind_address, CALL, (uint64_t object; size_t at; uint64_t address; size_t size;),            \
      BOUND(at->object + at->at, at->size, at->address))                                           \
    F(unbind, CALL, (uint64_t object; int device; size_t at, size;),                               \
      UNBOUND(at->device, at->object + at->at, at->size))                                          \
    F(free, CALL, (uint64_t address;), FREED(at->address))                                         \
    F(free_async, CALL, (uint64_t address; void *stream;), FREED_ASYNC(at->address, at->stream))   \
    F(made, OBJECT, (const void *object;), MADE(at->object))                                       \
    F(made_of, OBJECT, (const void *object, *image;),                                              \
      MADE_OF(at->object, mt_cuda_image_bytes(at->image)))                                         \
    F(made_by, OBJECT, (const void *object; const char *path;),                                    \
      MADE_OF(at->object, mt_cuda_file_bytes(at->path)))                                           \
    F(ending, OBJECT, (uint64_t handle;), ENDED(at->handle))                                       \
    F(ending_device, OBJECT, (int device;), ENDED(at->device))                                     \
    F(reset, OBJECT, (char none[1];), ENDED(0))
/* clang-format on */

#define MT_CUPTI_MEMBERS(...) __VA_ARGS__
#define MT_CUPTI_FORM(form, kind, members, record)                                                 \
    struct mt_form_##form {                                                                        \
        MT_CUPTI_MEMBERS members                                                                   \
    };
MT_CUPTI_FORMS(MT_CUPTI_FORM)

#endif
