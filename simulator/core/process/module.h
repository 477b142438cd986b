/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded code, which never runs. It uses as much device memory as its image is long. */
#ifndef SIM_MODULE_H
#define SIM_MODULE_H

#include "../base/base.h"

/* The compiler adds this to a program, once per source file: a wrapper around a list of images. */
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

/* CUPTI's description of a CUDA module: CUpti_ModuleResourceData. */
struct sim_loaded_module {
    uint32_t number;
    size_t size;
    const char *image;
};

struct sim_module;

/* Load an image (a cubin, a list of cubins, its wrapper, PTX) on the thread's device, or one in a
 * file. -ENOMEM, -ENOENT. */
SIM_API int sim_module_load(const void *image, struct sim_module **out);
SIM_API int sim_module_load_file(const char *path, struct sim_module **out);
/* Unload a CUDA module. -EINVAL if it does not exist. */
SIM_API int sim_module_unload(struct sim_module *module);
/* Reset: the device's context was destroyed with all its memory. */
void sim_modules_reset(int device);

#endif
