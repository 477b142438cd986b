/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of a rank whose peers are absent. They do what this rank does; its content represents
 * theirs. If only a peer has the content (a broadcast's root, the previous pipeline stage), the
 * memory stays as it is.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"
#include "nccl.h"
#include "say.h"

enum { PATH_SIZE = 4096, MOST_CALLS = 1 << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Open the file of this rank. -1: none is requested, or another process of this rank writes it. */
static int open_file(const char *folder)
{
    char path[PATH_SIZE];
    if (!folder || snprintf(path, sizeof(path), "%s/calls-%llu", folder,
                            (unsigned long long)sim_environment("RANK", 0)) >= (int)sizeof(path))
        return -1;
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

/* Record a call to all ranks of the job, for comparison with a rank that runs after this one
 * (CUDASIM_SENT). */
static void note_call(const struct nccl_operation *operation)
{
    static bool is_open;
    static int file, count;
    enum nccl_kind kind = operation->kind;
    bool has_root = kind == NCCL_REDUCE || kind == NCCL_BROADCAST || kind == NCCL_GATHER ||
                    kind == NCCL_SCATTER;
    struct sim_call call = {(uint16_t)operation->comm->number, (uint16_t)kind,
                            has_root ? operation->root : -1};
    if (kind >= NCCL_SEND || !nccl_is_of_all(operation->comm))
        return;
    pthread_mutex_lock(&lock);
    if (!is_open) {
        file = open_file(getenv("CUDASIM_SENT"));
        is_open = true;
    }
    if (file >= 0 && count++ < MOST_CALLS && write(file, &call, sizeof(call)) != sizeof(call))
        count = MOST_CALLS;
    pthread_mutex_unlock(&lock);
}

enum { PRODUCT = 1, MAXIMUM = 2, MINIMUM = 3, AVERAGE = 4 };
enum { REAL_RANKS = 8, INT64 = 4, UINT64 = 5, MOST_SIZES = 64, PIECE = 1 << 16 };

/* Combine `times` copies of the contents, doubling them: integers exactly. */
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
            nccl_combine(bytes, doubled, operation->count, operation->type, operation->op);
        is_first &= times % 2 == 0;
        if (times > 1)
            nccl_combine(doubled, doubled, operation->count, operation->type, operation->op);
    }
    free(doubled);
    return NCCL_SUCCESS;
}

/* Combine the contributions of so many equal ranks: at most one pass over them if there are
 * many. */
static enum nccl_result combine_equal(void *bytes, size_t size,
                                      const struct nccl_operation *operation)
{
    int ranks = operation->comm->size, op = operation->op;
    if (op == MAXIMUM || op == MINIMUM || op == AVERAGE)
        return NCCL_SUCCESS;
    if (op == PRODUCT || operation->type <= UINT64)
        return combine_copies(bytes, size, operation, ranks);
    nccl_scale(bytes, operation->count, operation->type, ranks);
    return NCCL_SUCCESS;
}

static enum nccl_result reduce(const struct nccl_operation *operation, size_t offset)
{
    size_t size = operation->size;
    void *bytes = malloc(size);
    enum nccl_result result = NCCL_SYSTEM_ERROR;
    if (bytes)
        result = nccl_copy(bytes, (const char *)operation->from + offset, size);
    if (!result)
        nccl_scale_by_operator(operation, bytes);
    if (!result)
        result = combine_equal(bytes, size, operation);
    if (!result)
        result = nccl_copy(operation->to, bytes, size);
    free(bytes);
    return result;
}

/* Write a part `times` times, in growing pieces. The part may already be at its place in `to`. */
static enum nccl_result repeat(char *to, const char *part, size_t size, size_t times)
{
    size_t most = size < PIECE ? PIECE / size : 1, done = 1;
    enum nccl_result result = nccl_copy(to, part, size);
    while (done < times && !result) {
        size_t piece = done < most ? done : most;
        piece = piece < times - done ? piece : times - done;
        result = nccl_copy(to + done * size, to, piece * size);
        done += piece;
    }
    return result;
}

/* Return whether all parts together are too large to be moved. Real numbers count as one tensor
 * would: those of a large one are not computed, and one by one they would cost more with each rank.
 * Integers may be counts and sizes, bytes an object: they are moved until they fill more memory
 * than they are worth. */
static bool is_large(const struct nccl_operation *operation)
{
    size_t limit = nccl_limit(operation->type);
    size_t most = operation->type <= UINT64 ? REAL_RANKS * limit : limit;
    return (size_t)operation->comm->size > most / operation->size;
}

/* Fill all parts with what this rank would send. */
static enum nccl_result fill_parts(const struct nccl_operation *operation, const char *part,
                                   bool *is_known)
{
    const struct nccl_comm *comm = operation->comm;
    size_t size = operation->size;
    enum nccl_result result = NCCL_SUCCESS;
    if (is_large(operation)) {
        *is_known = false;
    } else if (size > sim_copy_limit() && !sim_is_written(part, size)) {
        sim_clear_written(operation->to, (size_t)comm->size * size);
    } else {
        result = repeat(operation->to, part, size, (size_t)comm->size);
    }
    return result;
}

/* Report once where a program will miss what another rank has: a few int64 are the sizes of objects
 * that follow, which it will try to read. Other content may be anything. */
static void say_absent(const struct nccl_operation *operation)
{
    static _Atomic bool is_reported;
    const struct nccl_comm *comm = operation->comm;
    char remedy[80] = "create it on every rank";
    if (operation->type != INT64 || operation->count > MOST_SIZES ||
        atomic_exchange(&is_reported, true))
        return;
    if (operation->kind != NCCL_BROADCAST)
        snprintf(remedy, sizeof(remedy), "give a pipeline's stage input_args and output_args");
    else if (nccl_is_of_all(comm))
        snprintf(remedy, sizeof(remedy), "run both (--rank %d,%d), or create it on every rank",
                 operation->root, comm->rank);
    sim_print("rank %d of %d is simulated alone, and %s from rank %d, which is absent: an object "
              "that only that rank has cannot be read; %s",
              comm->rank, comm->size,
              operation->kind == NCCL_BROADCAST ? "waits for a broadcast" : "receives a message",
              operation->root, remedy);
}

/* Copy what this rank does in the same group for itself: `kind` with the rank as its peer or root.
 * Lists are gathered and unequal parts exchanged in this way, by one call per rank. */
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
    if (kind == NCCL_BROADCAST && nccl_sent_take(operation))
        return NCCL_SUCCESS;
    say_absent(operation);
    if (kind == NCCL_SEND)
        sim_know(operation->to, SIM_UNKNOWN);
    return NCCL_SUCCESS;
}

/* Send a broadcast, or receive it. In a group of broadcasts, each rank is the root in turn: lists
 * are gathered. */
static enum nccl_result broadcast(const struct nccl_operation *operation,
                                  const struct nccl_operation *group)
{
    bool is_alone = true;
    for (const struct nccl_operation *each = group; each; each = each->next)
        is_alone &= each->kind != NCCL_BROADCAST || each->comm != operation->comm ||
                    each->root == operation->root;
    if (is_alone && operation->root == operation->comm->rank)
        nccl_sent_put(operation);
    return copy_own(operation, group, NCCL_BROADCAST);
}

enum nccl_result nccl_do_alone(const struct nccl_operation *operation,
                               const struct nccl_operation *group)
{
    const struct nccl_comm *comm = operation->comm;
    const char *from = operation->from;
    size_t own_part = (size_t)comm->rank * operation->size;
    bool is_root = comm->rank == operation->root, is_known = sim_is_settled(sim_known(from));
    enum nccl_result result = NCCL_SUCCESS;
    note_call(operation);
    switch (operation->kind) {
    case NCCL_REDUCE:
        if (!is_root)
            return NCCL_SUCCESS;
        /* fallthrough */
    case NCCL_ALL_REDUCE:
        result = reduce(operation, 0);
        break;
    case NCCL_REDUCE_SCATTER:
        if (operation->type > UINT64 && is_large(operation))
            is_known = false;
        else
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
        return broadcast(operation, group);
    case NCCL_RECEIVE:
        return copy_own(operation, group, NCCL_SEND);
    case NCCL_SEND:
        return NCCL_SUCCESS;
    }
    sim_know(operation->to, is_known ? SIM_KNOWN : SIM_UNKNOWN);
    return result;
}
