/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's collectives: arguments in, an operation out. */
#include "api/launch.h"
#include "core/streams/capture.h"
#include "nccl.h"

#define STREAM struct nccl_comm *comm, void *stream

enum { SCALAR_OF_DEVICE = 0 };

/* Return whether to move contents: not large ones, not types that cannot be added, not captured
 * work. */
static bool moves(const struct nccl_operation *operation, void *stream)
{
    bool reduces = operation->kind <= NCCL_REDUCE_SCATTER;
    uint64_t id;
    struct sim_graph *graph;
    if (!operation->size || operation->size > nccl_limit(operation->type))
        return false;
    if (reduces && !nccl_type_adds(operation->type))
        return false;
    return sim_capture_status(sim_stream(stream), &id, &graph) == SIM_NOT_CAPTURING;
}

static int submit(struct nccl_operation operation, void *stream)
{
    size_t element = nccl_type_size(operation.type);
    const struct nccl_comm *comm = operation.comm;
    if (!comm || !element || operation.root < 0 || operation.root >= comm->size ||
        operation.op < 0 || __builtin_mul_overflow(operation.count, element, &operation.size))
        return NCCL_INVALID_ARGUMENT;
    LIBRARY_LAUNCH("ncclDevKernel", (uintptr_t)operation.from, (uintptr_t)operation.to);
    return (int)(moves(&operation, stream) ? nccl_submit(&operation) : NCCL_SUCCESS);
}

#define SUBMIT(what, ...)                                                                          \
    submit(                                                                                        \
        (struct nccl_operation){                                                                   \
            .comm = comm, .kind = (what), .count = count, .type = type, __VA_ARGS__},              \
        stream)

int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, STREAM)
{
    return SUBMIT(NCCL_ALL_REDUCE, .from = from, .to = to, .op = op);
}

int ncclReduce(const void *from, void *to, size_t count, int type, int op, int root, STREAM)
{
    return SUBMIT(NCCL_REDUCE, .from = from, .to = to, .op = op, .root = root);
}

int ncclReduceScatter(const void *from, void *to, size_t count, int type, int op, STREAM)
{
    return SUBMIT(NCCL_REDUCE_SCATTER, .from = from, .to = to, .op = op);
}

int ncclAllGather(const void *from, void *to, size_t count, int type, STREAM)
{
    return SUBMIT(NCCL_ALL_GATHER, .from = from, .to = to);
}

int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, STREAM)
{
    return SUBMIT(NCCL_BROADCAST, .from = from, .to = to, .root = root);
}

int ncclBcast(void *buffer, size_t count, int type, int root, STREAM)
{
    return SUBMIT(NCCL_BROADCAST, .from = buffer, .to = buffer, .root = root);
}

int ncclAlltoAll(const void *from, void *to, size_t count, int type, STREAM)
{
    return SUBMIT(NCCL_ALL_TO_ALL, .from = from, .to = to);
}

int ncclGather(const void *from, void *to, size_t count, int type, int root, STREAM)
{
    return SUBMIT(NCCL_GATHER, .from = from, .to = to, .root = root);
}

int ncclScatter(const void *from, void *to, size_t count, int type, int root, STREAM)
{
    return SUBMIT(NCCL_SCATTER, .from = from, .to = to, .root = root);
}

int ncclSend(const void *from, size_t count, int type, int peer, STREAM)
{
    return SUBMIT(NCCL_SEND, .from = from, .root = peer);
}

int ncclRecv(void *to, size_t count, int type, int peer, STREAM)
{
    return SUBMIT(NCCL_RECEIVE, .to = to, .root = peer);
}

/* Create a sum in which each rank multiplies its terms by its factor. */
int ncclRedOpCreatePreMulSum(int *op, void *scalar, int type, int residence, struct nccl_comm *comm)
{
    double value = 0;
    int i = 0;

    if (!comm || !scalar || !nccl_type_size(type))
        return NCCL_INVALID_ARGUMENT;
    while (i < NCCL_SCALARS && comm->scalars[i].used)
        i++;
    if (i == NCCL_SCALARS)
        return nccl_fail(NCCL_INVALID_USAGE, "more than %d operators at a time", NCCL_SCALARS);
    if (sim_copy(&value, sizeof(value), scalar, nccl_type_size(type), nccl_type_size(type), 1,
                 residence == SCALAR_OF_DEVICE ? SIM_DEVICE_TO_HOST : SIM_HOST_TO_HOST))
        return NCCL_INVALID_ARGUMENT;
    comm->scalars[i].used = true;
    comm->scalars[i].value = nccl_number(&value, type);
    *op = NCCL_OPERATORS + i;
    return NCCL_SUCCESS;
}

int ncclRedOpDestroy(int op, struct nccl_comm *comm)
{
    int i = op - NCCL_OPERATORS;
    if (!comm || i < 0 || i >= NCCL_SCALARS)
        return NCCL_INVALID_ARGUMENT;
    comm->scalars[i].used = false;
    return NCCL_SUCCESS;
}
