/* SPDX-License-Identifier: Apache-2.0 */
/* Structures and numbers of CUPTI and its callbacks, as far as needed: the build does not need
 * CUPTI's headers. tests/shim/test-cupti-headers.c compares them with the headers. */
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

/* A call's parameters, one structure for all calls of a form, without the ones at the end that are
 * not needed. */
struct mt_form_alloc {
    const void *address; /* where the address goes */
    size_t size;
};
struct mt_form_async {
    const void *address;
    size_t size;
    void *stream;
};
struct mt_form_pool {
    const void *address;
    size_t size;
    void *pool, *stream;
};
struct mt_form_pitch {
    const void *address;
    const size_t *pitch;
    size_t width, height;
};
struct mt_form_box {
    const struct mt_pitched *out;
    struct mt_extent extent;
};
struct mt_form_array {
    const void *array;
    const struct mt_texel *texel;
    size_t width, height;
};
struct mt_form_array_3d {
    const void *array;
    const struct mt_texel *texel;
    struct mt_extent extent;
};
struct mt_form_mipmapped {
    const void *array;
    const struct mt_texel *texel;
    struct mt_extent extent;
    unsigned levels;
};
struct mt_form_register {
    void *address;
    size_t size;
};
struct mt_form_import {
    const void *address;
};
struct mt_form_buffer {
    const void *address;
    void *external;
    const struct mt_external_buffer *buffer;
};
struct mt_form_flat {
    const void *array;
    const struct mt_array *wanted;
};
struct mt_form_deep {
    const void *array;
    const struct mt_array_3d *wanted;
};
struct mt_form_deep_levels {
    const void *array;
    const struct mt_array_3d *wanted;
    unsigned levels;
};
struct mt_form_physical {
    const void *handle;
    size_t size;
    const struct mt_physical_properties *wanted;
};
struct mt_form_map {
    uint64_t address;
    size_t size, offset;
    uint64_t handle;
};
struct mt_form_unmap {
    uint64_t address;
    size_t size;
};
struct mt_form_team { /* a multicast object */
    const void *object;
    const struct mt_multicast *wanted;
};
struct mt_form_bind {
    uint64_t object;
    size_t at;
    uint64_t handle;
    size_t offset, size;
};
struct mt_form_bind_address {
    uint64_t object;
    size_t at;
    uint64_t address;
    size_t size;
};
struct mt_form_unbind {
    uint64_t object;
    int device;
    size_t at, size;
};
struct mt_form_free {
    uint64_t address;
};
struct mt_form_free_async {
    uint64_t address;
    void *stream;
};
struct mt_form_made {
    const void *object;
};
struct mt_form_made_of { /* code in memory, which becomes a CUDA module */
    const void *object, *image;
};
struct mt_form_made_by { /* code in a file */
    const void *object;
    const char *path;
};
struct mt_form_ending {
    uint64_t handle;
};
struct mt_form_ending_device {
    int device;
};
struct mt_form_reset { /* no parameters */
    char none[1];
};

#endif
