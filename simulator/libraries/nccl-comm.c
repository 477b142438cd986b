/* SPDX-License-Identifier: Apache-2.0 */
/* How long a communicator lives. */
#include <stdlib.h>

#include "nccl.h"
#include "own-memory.h"

static void destroy(struct nccl_comm *comm)
{
    if (comm->peers)
        nccl_mesh_close(comm);
    if (comm->allocated)
        own_memory_release(comm->memory);
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
