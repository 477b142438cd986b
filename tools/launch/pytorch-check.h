/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PYTORCH_CHECK_H
#define MT_PYTORCH_CHECK_H

#include <limits.h>

/* Find a command as a shell would. Return 1, or 0 if there is none. */
int mt_find_command(const char *command, char out[PATH_MAX]);

/* Return 1 and PyTorch's folder if a command is a Python, or a script for one, whose PyTorch is
 * built without CUDA. Return 0 if it is not, or if the files do not say. */
int mt_pytorch_without_cuda(const char *command, char folder[PATH_MAX]);

#endif
