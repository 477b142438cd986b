/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels by their functions: names and parameter layouts, from the program's images. Kernels of
 * libraries, which have no image here, consist of a name and a number of words. */
#ifndef SIM_KERNELS_H
#define SIM_KERNELS_H

#include "../base/base.h"
#include "module.h"

struct sim_kernel_code {
    const struct sim_image_wrapper *wrapper;
    const char *name; /* mangled */
};

/* Let a runtime find the kernels that programs register with it. `find` is called in any thread. */
SIM_API void sim_kernels_found_by(bool (*find)(const void *function, struct sim_kernel_code *code));

/* Return the kernel's mangled name; NULL: the function is unknown. */
SIM_API const char *sim_kernel_name(const void *function);

/* Find a parameter: its offset in the kernel's parameters and its size, in bytes. Return 0;
 * -ENOENT: its layout is unknown; -ERANGE: the kernel has fewer parameters. */
SIM_API int sim_kernel_parameter(const void *function, size_t index, size_t *offset, size_t *size);

/* Return the function of a library's kernel whose parameters are words of 8 bytes, or
 * SIM_UNKNOWN_WORDS. The name is kept. NULL: there are too many. */
#define SIM_UNKNOWN_WORDS UINT32_MAX
SIM_API void *sim_library_kernel(const char *name, unsigned words);

/* Return whether it is such a function. */
SIM_API bool sim_is_library_kernel(const void *function);

#endif
