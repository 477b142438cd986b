/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_GROUP_SIZE_H
#define SIM_GROUP_SIZE_H

#include "../base/base.h"

/* Return the number of ranks in the process group that PyTorch last created in this thread; 0:
 * none. NCCL itself learns the size of a split communicator from the other ranks. */
SIM_API int sim_group_size(void);

/* Note the ranks of a group that is created with these options (C++'s smart pointer), or split from
 * all ranks. own: this rank's place among them. Does nothing without CUDASIM_GROUPS. */
void sim_note_group(const void *options, int own, int size);
void sim_note_split(const int *ranks, int count, int own);

#endif
