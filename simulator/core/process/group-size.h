/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_GROUP_SIZE_H
#define SIM_GROUP_SIZE_H

#include "../base/base.h"

/* Return the number of ranks in the process group that PyTorch last created in this thread; 0:
 * none. NCCL itself learns the size of a split communicator from the other ranks. */
SIM_API int sim_group_size(void);

#endif
