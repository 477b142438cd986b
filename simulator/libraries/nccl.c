/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL: communicators know their size and rank; collectives move nothing. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/core.h"

enum { SUCCESS = 0, UNHANDLED_CUDA = 1, INVALID_ARGUMENT = 4 };

struct communicator {
    int size, rank;
};

struct unique_id {
    char bytes[128];
};

int ncclGetUniqueId(struct unique_id *id);
int ncclCommInitRank(struct communicator **out, int size, struct unique_id id, int rank);
int ncclCommInitRankConfig(struct communicator **out, int size, struct unique_id id, int rank,
                           void *config);
int ncclCommInitRankScalable(struct communicator **out, int size, int rank, int ids,
                             struct unique_id *id, void *config);
int ncclCommInitAll(struct communicator **out, int size, const int *devices);
int ncclCommSplit(struct communicator *whole, int color, int key, struct communicator **out,
                  void *config);
int ncclCommCount(const struct communicator *communicator, int *count);
int ncclCommUserRank(const struct communicator *communicator, int *rank);
int ncclCommDestroy(struct communicator *communicator);
int ncclCommAbort(struct communicator *communicator);
int ncclMemAlloc(void **out, size_t size);
int ncclMemFree(void *address);

static int create(struct communicator **out, int size, int rank)
{
    if (size < 1 || rank < 0 || rank >= size)
        return INVALID_ARGUMENT;
    *out = malloc(sizeof(**out));
    if (!*out)
        return UNHANDLED_CUDA;
    **out = (struct communicator){size, rank};
    return SUCCESS;
}

int ncclGetUniqueId(struct unique_id *id)
{
    uint64_t now = sim_now();
    pid_t pid = getpid();

    memset(id, 0, sizeof(*id));
    memcpy(id->bytes, &now, sizeof(now));
    memcpy(id->bytes + sizeof(now), &pid, sizeof(pid));
    return SUCCESS;
}

int ncclCommInitRank(struct communicator **out, int size, struct unique_id id, int rank)
{
    (void)id;
    return create(out, size, rank);
}

int ncclCommInitRankConfig(struct communicator **out, int size, struct unique_id id, int rank,
                           void *config)
{
    (void)id;
    (void)config;
    return create(out, size, rank);
}

int ncclCommInitRankScalable(struct communicator **out, int size, int rank, int ids,
                             struct unique_id *id, void *config)
{
    (void)ids;
    (void)id;
    (void)config;
    return create(out, size, rank);
}

int ncclCommInitAll(struct communicator **out, int size, const int *devices)
{
    (void)devices;
    for (int rank = 0; rank < size; rank++) {
        int code = create(&out[rank], size, rank);

        if (code)
            return code;
    }
    return SUCCESS;
}

/*
 * Who else has that color is known only by talking, which this does not do: the part is taken for
 * the whole.
 */
int ncclCommSplit(struct communicator *whole, int color, int key, struct communicator **out,
                  void *config)
{
    (void)key;
    (void)config;
    *out = NULL;
    return color < 0 ? SUCCESS : create(out, whole->size, whole->rank);
}

int ncclCommCount(const struct communicator *communicator, int *count)
{
    *count = communicator->size;
    return SUCCESS;
}

int ncclCommUserRank(const struct communicator *communicator, int *rank)
{
    *rank = communicator->rank;
    return SUCCESS;
}

int ncclCommDestroy(struct communicator *communicator)
{
    free(communicator);
    return SUCCESS;
}

int ncclCommAbort(struct communicator *communicator)
{
    free(communicator);
    return SUCCESS;
}

int ncclMemAlloc(void **out, size_t size)
{
    if (sim_enter() || sim_allocate(SIM_DEVICE, sim_thread.device, size, 0, out))
        return UNHANDLED_CUDA;
    return SUCCESS;
}

int ncclMemFree(void *address)
{
    return address && sim_release(address, SIM_DEVICE) ? INVALID_ARGUMENT : SUCCESS;
}
