/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PYTORCH_CHECK_H
#define MT_PYTORCH_CHECK_H

#include <limits.h>
#include <stdbool.h>

/* Find a command as a shell would. Return 1, or 0 if there is none. */
bool mt_find_command(const char *command, char out[PATH_MAX]);

enum mt_pytorch {
    MT_PYTORCH_UNKNOWN, /* not a Python, or undecidable from files */
    MT_PYTORCH_CPU,     /* the CPU build, without CUDA */
    MT_PYTORCH_ALONE,   /* a CUDA build without NVIDIA's libraries */
    MT_PYTORCH_CUDA,
};

/* Find the PyTorch, and its folder, of a command that is a Python or a Python script. */
enum mt_pytorch mt_pytorch_of(const char *command, char folder[PATH_MAX]);

/* Return whether this machine has a GPU with NVIDIA's driver, by its device files. */
bool mt_has_gpu(void);

#endif
