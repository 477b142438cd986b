/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PRELOAD_HOOKS_NCCL_H
#define MT_PRELOAD_HOOKS_NCCL_H

/* Return our hook of a function that dlsym found in the NCCL that linked callers use, else the
 * function: a second NCCL of the process is not recorded. Takes the loader's lock. */
void *mt_nccl_wrap(const char *symbol, void *found);

#endif
