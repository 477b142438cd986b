/* SPDX-License-Identifier: Apache-2.0 */
/* How long a communicator lives. */
#include <stdlib.h>

#include "nccl.h"

static void destroy(struct nccl_comm *comm)
{
    if (comm->peers)
        nccl_mesh_close(comm);
    if (comm->taken)
        sim_give(sim_device(comm->device), comm->taken);
    free(comm->peers);
    free(comm);
}

void nccl_release(struct nccl_comm *comm)
{
    if (atomic_fetch_sub(&comm->references, 1) == 1)
        destroy(comm);
}

void nccl_retain(struct nccl_comm *comm)
{
    atomic_fetch_add(&comm->references, 1);
}
