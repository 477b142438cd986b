/* SPDX-License-Identifier: Apache-2.0 */
/* An NCCL for the tests of the shim: a communicator requests 4,096 bytes from CUDA. It checks what
 * it is called with, and answers as NCCL does: in progress, where the communicator does not block;
 * NULL for a rank that has no part of a split. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

unsigned cudaMalloc(void **address, size_t size);
unsigned cudaFree(void *address);

enum { SUCCESS, CUDA_ERROR, INVALID_ARGUMENT = 4, IN_PROGRESS = 7 };

struct id {
    char bytes[128];
};
struct comm {
    void *memory;
};

int ncclCommInitRank(struct comm **out, int size, struct id id, int rank);
int ncclCommInitRankConfig(struct comm **out, int size, struct id id, int rank, void *config);
int ncclCommInitAll(struct comm **out, int n, const int *devices);
int ncclCommSplit(struct comm *whole, int color, int key, struct comm **out, void *config);
int ncclCommDestroy(struct comm *comm);
int ncclCommAbort(struct comm *comm);

static int create(struct comm **out)
{
    struct comm *comm = calloc(1, sizeof *comm);
    if (!comm || cudaMalloc(&comm->memory, 4096))
        return CUDA_ERROR;
    *out = comm;
    return SUCCESS;
}

static bool is_right(int size, const struct id *id, int rank)
{
    struct id wanted;
    memset(&wanted, 42, sizeof wanted);
    return size == 3 && rank == 1 && !memcmp(id, &wanted, sizeof wanted);
}

int ncclCommInitRank(struct comm **out, int size, struct id id, int rank)
{
    return is_right(size, &id, rank) ? create(out) : INVALID_ARGUMENT;
}

/* config: whether it blocks. */
int ncclCommInitRankConfig(struct comm **out, int size, struct id id, int rank, void *config)
{
    int result = is_right(size, &id, rank) ? create(out) : INVALID_ARGUMENT;
    return result || *(int *)config ? result : IN_PROGRESS;
}

int ncclCommInitAll(struct comm **out, int n, const int *devices)
{
    int result = devices && devices[n - 1] == 1 ? SUCCESS : INVALID_ARGUMENT;
    for (int i = 0; i < n && !result; i++)
        result = create(&out[i]);
    return result;
}

int ncclCommSplit(struct comm *whole, int color, int key, struct comm **out, void *config)
{
    *out = NULL;
    if (!whole || key != 5 || config)
        return INVALID_ARGUMENT;
    return color < 0 ? SUCCESS : create(out);
}

static int end(struct comm *comm)
{
    if (!comm || cudaFree(comm->memory))
        return CUDA_ERROR;
    free(comm);
    return SUCCESS;
}

int ncclCommDestroy(struct comm *comm)
{
    return end(comm);
}

int ncclCommAbort(struct comm *comm)
{
    return end(comm);
}
