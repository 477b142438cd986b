/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's communicators: their ranks and their memory on the device. */
#include "nccl.h"
#include "core/process/group-size.h"
#include "own-memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

int ncclCommGetUniqueId(struct nccl_comm *comm, struct nccl_id *id);
int ncclCommAbort(struct nccl_comm *comm);
int ncclCommRevoke(struct nccl_comm *comm, int flags);
int ncclGroupStart(void);
int ncclGroupEnd(void);

/*
 * Return a communicator's memory on a device, an estimate. For each channel of a connection NCCL
 * keeps the buffers of its three protocols (9.7 MiB, in a block of 10 MiB) and a page for the other
 * side; a ring has one connection. Cards with NVLink (the cards with HBM) use 24 channels, others
 * 2.
 */
static uint64_t buffers(const struct sim_device *device, int size)
{
    uint64_t channels = device->gpu->bus_bits >= 4096 ? 24 : 2;
    return size > 1 ? channels * (12 << 20) : SIM_PAGE;
}

static enum nccl_result open_comm(struct nccl_comm *comm)
{
    struct sim_device *device = sim_device(comm->device);
    comm->peers = calloc((size_t)comm->size, sizeof(*comm->peers));
    if (!comm->peers)
        return NCCL_SYSTEM_ERROR;
    for (int rank = 0; rank < comm->size; rank++)
        comm->peers[rank].socket = -1;
    if (!device || sim_primary_up(comm->device))
        return NCCL_CUDA_ERROR;
    uint64_t bytes = buffers(device, comm->size);
    if (own_memory_create(comm->device, bytes, &comm->memory))
        return nccl_fail(NCCL_CUDA_ERROR, "out of memory: device %d has no %llu MiB left",
                         comm->device, (unsigned long long)bytes >> 20);
    comm->allocated = bytes;
    return comm->alone ? NCCL_SUCCESS : nccl_mesh_open(comm);
}

/* Return whether the launcher started one rank without its peers. */
static bool is_alone(void)
{
    return sim_environment("CUDASIM_ALONE", 0);
}

/* Check the rank: a program that starts ranks itself has more of them than the one that is
 * simulated. */
static enum nccl_result check_alone(int size, int rank)
{
    int world = (int)sim_environment("WORLD_SIZE", 1), self = (int)sim_environment("RANK", 0);
    if (size > world || (size == world && rank != self))
        return nccl_fail(NCCL_INVALID_USAGE,
                         "this process claims to be rank %d of %d, but rank %d of %d is simulated "
                         "alone; run a program that does not start ranks itself",
                         rank, size, self, world);
    return NCCL_SUCCESS;
}

static enum nccl_result create(struct nccl_comm **out, int size, struct nccl_id id, int rank,
                               int device, bool alone)
{
    static _Atomic unsigned of_all;
    if (!out || size < 1 || rank < 0 || rank >= size)
        return NCCL_INVALID_ARGUMENT;
    if (alone && check_alone(size, rank))
        return NCCL_INVALID_USAGE;
    struct nccl_comm *comm = calloc(1, sizeof(*comm));
    if (!comm)
        return NCCL_SYSTEM_ERROR;
    comm->alone = alone;
    comm->size = size;
    comm->rank = rank;
    comm->device = device;
    comm->id = id;
    comm->listener = -1;
    comm->references = 1;
    comm->number = alone && nccl_is_of_all(comm) ? atomic_fetch_add(&of_all, 1) : 0;
    enum nccl_result result = open_comm(comm);
    if (!result) {
        *out = comm;
        result = nccl_join(comm);
    }
    if (result) {
        *out = NULL;
        nccl_release(comm);
    }
    return result;
}

int ncclGetUniqueId(struct nccl_id *id)
{
    memset(id, 0, sizeof(*id));
    if (getrandom(id->bytes, NCCL_ID_RANDOM, 0) != NCCL_ID_RANDOM)
        return NCCL_SYSTEM_ERROR;
    return NCCL_SUCCESS;
}

int ncclCommInitRank(struct nccl_comm **out, int size, struct nccl_id id, int rank)
{
    return (int)create(out, size, id, rank, sim_thread.device, is_alone());
}

int ncclCommInitRankScalable(struct nccl_comm **out, int size, int rank, int ids,
                             struct nccl_id *id, void *config)
{
    (void)config;
    return ids < 1 ? NCCL_INVALID_ARGUMENT
                   : (int)create(out, size, id[0], rank, sim_thread.device, is_alone());
}

int ncclCommInitAll(struct nccl_comm **out, int size, const int *devices)
{
    struct nccl_id id;
    enum nccl_result result = size < 1 ? NCCL_INVALID_ARGUMENT : NCCL_SUCCESS, ended;
    int rank = 0;
    if (!result)
        result = (enum nccl_result)ncclGetUniqueId(&id);
    ncclGroupStart();
    while (rank < size && !result) {
        result = create(&out[rank], size, id, rank, devices ? devices[rank] : rank, false);
        rank += !result;
    }
    /* The ranks created so far would wait for the others at the end of the group. */
    while (result && rank > 0)
        ncclCommAbort(out[--rank]);
    ended = (enum nccl_result)ncclGroupEnd();
    return (int)(result ? result : ended);
}

/* A rank's message when a communicator is divided. */
struct member {
    int color, key;
    struct nccl_id id; /* the part's id, if this rank becomes its first */
};

static bool goes_before(const struct member *all, int a, int b)
{
    return all[a].key != all[b].key ? all[a].key < all[b].key : a < b;
}

/* Make the communicator of the ranks with this rank's color, ordered by key. */
static enum nccl_result divide(struct nccl_comm *whole, const struct member *all,
                               struct nccl_comm **out)
{
    int self = whole->rank, first = self, size = 0, rank = 0;
    for (int i = 0; i < whole->size; i++) {
        if (all[i].color != all[self].color)
            continue;
        size++;
        rank += goes_before(all, i, self);
        if (goes_before(all, i, first))
            first = i;
    }
    return create(out, size, all[first].id, rank, whole->device, false);
}

/* Make this rank's part without the others' colors: PyTorch knows the part's size, and gives the
 * rank in it as the key. */
static enum nccl_result divide_alone(struct nccl_comm *whole, int color, int key,
                                     struct nccl_comm **out)
{
    int size = sim_group_size();
    if (color < 0)
        return NCCL_SUCCESS;
    if (key < 0 || key >= size || size > whole->size)
        return nccl_fail(NCCL_INVALID_USAGE,
                         "ncclCommSplit: rank %d of %d is simulated alone, and it is unknown which "
                         "of the absent ranks have color %d",
                         whole->rank, whole->size, color);
    return create(out, size, whole->id, key, whole->device, true);
}

int ncclCommSplit(struct nccl_comm *whole, int color, int key, struct nccl_comm **out, void *config)
{
    struct member self = {.color = color, .key = key}, *all;
    (void)config;
    *out = NULL;
    if (whole->alone)
        return (int)divide_alone(whole, color, key, out);
    all = calloc((size_t)whole->size, sizeof(*all));
    if (!all || ncclGetUniqueId(&self.id)) {
        free(all);
        return NCCL_SYSTEM_ERROR;
    }
    enum nccl_result result = nccl_gather_now(whole, &self, sizeof(self), all);
    if (!result && color >= 0)
        result = divide(whole, all, out);
    free(all);
    return (int)result;
}

/* Shrink a communicator. The remaining ranks cannot query the others, which may have ended, so the
 * new name is derived from the old one and the ranks that left. */
int ncclCommShrink(struct nccl_comm *whole, const int *left_out, int count, struct nccl_comm **out,
                   void *config, int flags)
{
    struct nccl_id id = whole->id;
    int size = whole->size, rank = whole->rank;
    (void)config;
    (void)flags;
    *out = NULL;
    for (int i = 0; i < count; i++) {
        if (left_out[i] == whole->rank || left_out[i] < 0 || left_out[i] >= whole->size)
            return NCCL_INVALID_ARGUMENT;
        size--;
        rank -= left_out[i] < whole->rank;
        id.bytes[left_out[i] % NCCL_ID_RANDOM] ^= (unsigned char)(1 + left_out[i] / NCCL_ID_RANDOM);
    }
    return (int)create(out, size, id, rank, whole->device, whole->alone);
}

int ncclCommCount(const struct nccl_comm *comm, int *count)
{
    *count = comm->size;
    return NCCL_SUCCESS;
}

int ncclCommCuDevice(const struct nccl_comm *comm, int *device)
{
    *device = comm->device;
    return NCCL_SUCCESS;
}

int ncclCommUserRank(const struct nccl_comm *comm, int *rank)
{
    *rank = comm->rank;
    return NCCL_SUCCESS;
}

int ncclCommMemStats(const struct nccl_comm *comm, int what, uint64_t *value)
{
    enum { SUSPENDED = 1, PERSISTENT = 2, TOTAL = 3 };
    *value = what == PERSISTENT || what == TOTAL ? comm->allocated : 0;
    return what < 0 || what > TOTAL ? NCCL_INVALID_ARGUMENT : NCCL_SUCCESS;
}

int ncclCommDestroy(struct nccl_comm *comm)
{
    if (comm)
        nccl_release(comm);
    return NCCL_SUCCESS;
}

/* Abort. May be called while another thread waits for a peer. */
int ncclCommAbort(struct nccl_comm *comm)
{
    ncclCommRevoke(comm, 0);
    return ncclCommDestroy(comm);
}

int ncclCommRevoke(struct nccl_comm *comm, int flags)
{
    (void)flags;
    if (comm && !atomic_exchange(&comm->aborted, true))
        nccl_mesh_shut(comm);
    return NCCL_SUCCESS;
}

const char *ncclGetErrorString(int result)
{
    static const char *const texts[] = {
        "no error",
        "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        "unhandled system error (run with NCCL_DEBUG=INFO for details)",
        "internal error - please report this issue to the NCCL developers",
        "invalid argument (run with NCCL_DEBUG=WARN for details)",
        "invalid usage (run with NCCL_DEBUG=WARN for details)",
        "remote process exited or there was a network error",
        "NCCL operation in progress",
    };

    return result >= 0 && result < (int)(sizeof(texts) / sizeof(*texts)) ? texts[result]
                                                                         : "unknown result code";
}

const char *ncclGetLastError(const struct nccl_comm *comm)
{
    (void)comm;
    return nccl_last_error();
}

int ncclMemAlloc(void **out, size_t size)
{
    if (sim_enter() || sim_allocate(SIM_DEVICE, sim_thread.device, size, 0, out))
        return NCCL_CUDA_ERROR;
    return NCCL_SUCCESS;
}

int ncclMemFree(void *address)
{
    return address && sim_release(address, SIM_DEVICE) ? NCCL_INVALID_ARGUMENT : NCCL_SUCCESS;
}
