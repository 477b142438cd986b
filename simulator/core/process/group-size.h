/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_GROUP_SIZE_H
#define SIM_GROUP_SIZE_H

#include "../base/base.h"

/* Return the number of ranks in the process group that this thread's PyTorch made last; 0: none.
 * NCCL itself learns of a split communicator's size from the other ranks. */
SIM_API int sim_group_size(void);

#endif
