/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher.h"

#include <stddef.h>
#include <stdlib.h>

const char *const mt_place_names[MT_PLACES] = {"rank", "local_rank", "world_size"};

/* A job's own launcher takes precedence over Slurm, which also counts processes that only start
 * others. */
static const char *const launchers[][MT_PLACES] = {
    {"RANK", "LOCAL_RANK", "WORLD_SIZE"}, /* torchrun, torch.distributed */
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE"},
    {"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"}, /* MPICH, Intel MPI */
    {"PMIX_RANK", "PMIX_LOCAL_RANK", "PMIX_SIZE"},
    {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"},
};

#define N_LAUNCHERS (sizeof launchers / sizeof *launchers)

static const char *set_to(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value ? value : NULL;
}

const char *mt_launcher_place(enum mt_job_place place)
{
    for (size_t i = 0; i < N_LAUNCHERS; i++)
        if (set_to(launchers[i][MT_RANK]))
            return set_to(launchers[i][place]);
    return NULL;
}

const char *mt_launcher_variable(unsigned index)
{
    return index < N_LAUNCHERS * MT_PLACES ? launchers[index / MT_PLACES][index % MT_PLACES] : NULL;
}
