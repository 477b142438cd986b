/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVSHMEM's memory, of this process only; other ranks are only counted. (The real library allocates
 * from a symmetric heap, which grows with the requests.)
 */
#include <stdatomic.h>

#include "core/device/device.h"
#include "core/memory/memory.h"

enum { SUCCESS = 0, INVALID = 1, TEAM_WORLD = 0, FIRST_TEAM = 16, TEAMS = 256 };

static _Atomic int own_rank, team_size[TEAMS], last_team = FIRST_TEAM;

int nvshmemx_set_attr_uniqueid_args(int rank, int ranks, const void *id, void *attributes)
{
    (void)id;
    (void)attributes;
    own_rank = rank;
    team_size[TEAM_WORLD] = ranks;
    return SUCCESS;
}

void *nvshmem_malloc(size_t size)
{
    void *address;
    if (sim_enter() || sim_allocate(SIM_DEVICE, sim_thread.device, size, 0, &address))
        return NULL;
    return address;
}

void nvshmem_free(void *address)
{
    if (address)
        sim_release(address, SIM_DEVICE);
}

/* Return no address: another rank's memory has none here, as between machines. */
void *nvshmem_ptr(const void *address, int rank)
{
    return rank == own_rank ? (void *)(uintptr_t)address : NULL;
}

int nvshmem_team_n_pes(int team)
{
    if (team < 0 || team >= TEAMS)
        return -1;
    return team == TEAM_WORLD && !team_size[team] ? 1 : team_size[team];
}

int nvshmem_team_split_strided(int parent, int first, int stride, int size, const void *config,
                               long mask, int *team)
{
    int number = atomic_fetch_add(&last_team, 1);
    (void)config;
    (void)mask;
    if (size < 1 || stride < 1 || first < 0 || number >= TEAMS ||
        first + (size - 1) * stride >= nvshmem_team_n_pes(parent))
        return INVALID;
    team_size[number] = size;
    *team = number;
    return SUCCESS;
}
