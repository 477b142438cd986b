/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PYTORCH_CHECK_H
#define MT_PYTORCH_CHECK_H

#include <limits.h>

/* Where a shell would find a command: 1, or 0 where it is not. */
int mt_find_command(const char *command, char out[PATH_MAX]);

/* Whether a command is a Python, or a script for one, whose PyTorch is built without CUDA: 1 and
 * the folder of that PyTorch. 0 where that is not so or cannot be seen from the files. */
int mt_pytorch_without_cuda(const char *command, char folder[PATH_MAX]);

#endif
