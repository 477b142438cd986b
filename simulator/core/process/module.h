/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded code: it is never run, and takes as much memory of its device as its image is long. */
#ifndef SIM_MODULE_H
#define SIM_MODULE_H

#include "../base/base.h"

/* What the compiler puts into a program, per source file: a wrapper around a list of images. */
struct sim_image_wrapper {
    uint32_t magic, version;
    const unsigned char *list;
};

struct sim_image_list {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size; /* behind the header */
};

#define SIM_WRAPPER_MAGIC 0x466243b1u
#define SIM_LIST_MAGIC 0xba55ed50u

/* What CUPTI tells of one: CUpti_ModuleResourceData. */
struct sim_module_told {
    uint32_t number;
    size_t size;
    const char *image;
};

struct sim_module;

/* An image (a cubin, a list of them, its wrapper, PTX) on the thread's device, or
 * one in a file. -ENOMEM, -ENOENT. */
SIM_API int sim_module_load(const void *image, struct sim_module **out);
SIM_API int sim_module_load_file(const char *path, struct sim_module **out);
/* -EINVAL: there is no such module. */
SIM_API int sim_module_unload(struct sim_module *module);
/* The device's context is gone, and all memory with it. */
void sim_modules_reset(int device);

#endif
