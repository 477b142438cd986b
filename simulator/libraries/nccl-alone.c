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

static enum nccl_result reduce(const struct nccl_operation *operation, size_t offset)
{
    size_t size = operation->size;
    int ranks = operation->comm->size;
    void *bytes = malloc(size);
    enum nccl_result result = NCCL_SYSTEM_ERROR;

    if (bytes)
        result = nccl_copy(bytes, (const char *)operation->from + offset, size);
    if (!result)
        nccl_scale_by_operator(operation, bytes);
    if (!result && operation->operator!= OPERATOR_AVERAGE)
        result = combine_copies(bytes, size, operation, ranks);
    if (!result)
        result = nccl_copy(operation->to, bytes, size);
    free(bytes);
    return result;
}

/* All parts are what this rank would send. Those of more ranks than run at once fill more memory
 * than they are worth. */
static enum nccl_result fill_parts(const struct nccl_operation *operation, const char *part,
                                   bool *is_known)
{
    const struct nccl_comm *comm = operation->comm;
    size_t size = operation->size;
    enum nccl_result result = NCCL_SUCCESS;

    if ((size_t)comm->size > REAL_RANKS * nccl_limit(operation->type) / size) {
        *is_known = false;
    } else if (size > sim_copy_limit() && !sim_is_written(part, size)) {
        sim_clear_written(operation->to, (size_t)comm->size * size);
    } else {
        for (int rank = 0; rank < comm->size && !result; rank++)
            result = nccl_copy((char *)operation->to + (size_t)rank * size, part, size);
    }
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
            each->root == operation->comm->rank) {
            sim_know(operation->to, sim_known(each->from));
            return nccl_copy(operation->to, each->from,
                             each->size < operation->size ? each->size : operation->size);
        }
    tell_absent(operation);
    if (kind == NCCL_SEND)
        sim_know(operation->to, SIM_UNKNOWN);
    return NCCL_SUCCESS;
}

enum nccl_result nccl_do_alone(const struct nccl_operation *operation,
                               const struct nccl_operation *group)
{
    const struct nccl_comm *comm = operation->comm;
    const char *from = operation->from;
    size_t own_part = (size_t)comm->rank * operation->size;
    bool is_root = comm->rank == operation->root, is_known = sim_known(from) == SIM_KNOWN;
    enum nccl_result result = NCCL_SUCCESS;

    switch (operation->kind) {
    case NCCL_REDUCE:
        if (!is_root)
            return NCCL_SUCCESS;
        /* fallthrough */
    case NCCL_ALL_REDUCE:
        result = reduce(operation, 0);
        break;
    case NCCL_REDUCE_SCATTER:
        result = reduce(operation, own_part);
        break;
    case NCCL_GATHER:
        if (!is_root)
            return NCCL_SUCCESS;
        /* fallthrough */
    case NCCL_ALL_GATHER:
        result = fill_parts(operation, from, &is_known);
        break;
    case NCCL_ALL_TO_ALL:
        result = fill_parts(operation, from + own_part, &is_known);
        break;
    case NCCL_SCATTER:
        if (!is_root)
            return NCCL_SUCCESS;
        result = nccl_copy(operation->to, from + own_part, operation->size);
        break;
    case NCCL_BROADCAST:
        return copy_own(operation, group, NCCL_BROADCAST);
    case NCCL_RECEIVE:
        return copy_own(operation, group, NCCL_SEND);
    case NCCL_SEND:
        return NCCL_SUCCESS;
    }
    sim_know(operation->to, is_known ? SIM_KNOWN : SIM_UNKNOWN);
    return result;
}
