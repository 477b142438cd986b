/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of a rank whose peers are absent. They do what this rank does: its content stands for
 * theirs. Where a peer alone has the content (a broadcast's root, a pipeline's stage before), the
 * memory stays as it is.
 */
#include <stdlib.h>
#include <string.h>

#include "nccl.h"
#include "say.h"

enum { OPERATOR_AVERAGE = 4, REAL_RANKS = 8, INT64 = 4, MOST_SIZES = 64 };

/* Combine `times` copies of the contents, doubling them. */
static enum nccl_result combine_copies(void *bytes, size_t size,
                                       const struct nccl_operation *operation, int times)
{
    char *doubled = malloc(size);
    bool is_first = true;

    if (!doubled)
        return NCCL_SYSTEM_ERROR;
    memcpy(doubled, bytes, size);
    for (; times; times /= 2) {
        if (times % 2 && is_first)
            memcpy(bytes, doubled, size);
        else if (times % 2)
            nccl_combine(bytes, doubled, operation->count, operation->type, operation->operator);
        is_first &= times % 2 == 0;
        if (times > 1)
            nccl_combine(doubled, doubled, operation->count, operation->type, operation->operator);
    }
    free(doubled);
    return NCCL_SUCCESS;
}

static enum nccl_result copy(void *to, const void *from, size_t size)
{
    if (!sim_copy(to, size, from, size, size, 1, SIM_BY_ADDRESS))
        return NCCL_SUCCESS;
    return nccl_fail(NCCL_INVALID_ARGUMENT, "%zu bytes at %p or %p are not device memory", size,
                     from, to);
}

static enum nccl_result reduce(const struct nccl_operation *operation, size_t offset)
{
    size_t size = operation->size;
    int ranks = operation->comm->size;
    void *bytes = malloc(size);
    enum nccl_result result = NCCL_SYSTEM_ERROR;

    if (bytes)
        result = copy(bytes, (const char *)operation->from + offset, size);
    if (!result)
        nccl_scale_by_operator(operation, bytes);
    if (!result && operation->operator!= OPERATOR_AVERAGE)
        result = combine_copies(bytes, size, operation, ranks);
    if (!result)
        result = copy(operation->to, bytes, size);
    free(bytes);
    return result;
}

/* All parts are what this rank would send. Those of more ranks than run at once fill more memory
 * than they are worth. */
static enum nccl_result fill_parts(const struct nccl_operation *operation, const char *part)
{
    const struct nccl_comm *comm = operation->comm;
    size_t size = operation->size;
    enum nccl_result result = NCCL_SUCCESS;

    if ((size_t)comm->size > REAL_RANKS * sim_copy_limit() / size)
        return NCCL_SUCCESS;
    for (int rank = 0; rank < comm->size && !result; rank++)
        result = copy((char *)operation->to + (size_t)rank * size, part, size);
    return result;
}

/* Say once where a program will miss what another rank has: a few int64 are the sizes of objects
 * that follow, which it will try to read. Other content may be anything. */
static void tell_absent(const struct nccl_operation *operation)
{
    static _Atomic bool is_told;

    if (operation->type != INT64 || operation->count > MOST_SIZES ||
        atomic_exchange(&is_told, true))
        return;
    sim_say(
        "rank %d of %d is simulated alone, and %s from rank %d, which is absent: an object that "
        "only that rank has cannot be read%s",
        operation->comm->rank, operation->comm->size,
        operation->kind == NCCL_BROADCAST ? "waits for a broadcast" : "receives a message",
        operation->root,
        operation->kind == NCCL_BROADCAST ? "; make it on every rank"
                                          : "; give a pipeline's stage input_args and "
                                            "output_args");
}

/* Copy what this rank does in the same group for itself: `kind` with the rank as its peer or root.
 * So lists are gathered and unequal parts exchanged, by one call for each rank. */
static enum nccl_result copy_own(const struct nccl_operation *operation,
                                 const struct nccl_operation *group, enum nccl_kind kind)
{
    for (const struct nccl_operation *each = group; each; each = each->next)
        if (each->kind == kind && each->comm == operation->comm &&
            each->root == operation->comm->rank)
            return copy(operation->to, each->from,
                        each->size < operation->size ? each->size : operation->size);
    tell_absent(operation);
    return NCCL_SUCCESS;
}

enum nccl_result nccl_do_alone(const struct nccl_operation *operation,
                               const struct nccl_operation *group)
{
    const struct nccl_comm *comm = operation->comm;
    const char *from = operation->from;
    size_t own_part = (size_t)comm->rank * operation->size;
    bool is_root = comm->rank == operation->root;

    switch (operation->kind) {
    case NCCL_ALL_REDUCE:
        return reduce(operation, 0);
    case NCCL_REDUCE:
        return is_root ? reduce(operation, 0) : NCCL_SUCCESS;
    case NCCL_REDUCE_SCATTER:
        return reduce(operation, own_part);
    case NCCL_ALL_GATHER:
        return fill_parts(operation, from);
    case NCCL_GATHER:
        return is_root ? fill_parts(operation, from) : NCCL_SUCCESS;
    case NCCL_ALL_TO_ALL:
        return fill_parts(operation, from + own_part);
    case NCCL_BROADCAST:
        return copy_own(operation, group, NCCL_BROADCAST);
    case NCCL_SCATTER:
        return is_root ? copy(operation->to, from + own_part, operation->size) : NCCL_SUCCESS;
    case NCCL_RECEIVE:
        return copy_own(operation, group, NCCL_SEND);
    case NCCL_SEND:
        break;
    }
    return NCCL_SUCCESS;
}
