/* SPDX-License-Identifier: Apache-2.0 */
/* How long a communicator lives. */
#include <stdlib.h>

#include "nccl.h"

static void destroy(struct nccl_comm *comm)
{
    if (comm->peers)
        nccl_mesh_close(comm);
    if (comm->allocated)
        sim_free_bytes(sim_device(comm->device), comm->allocated);
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
