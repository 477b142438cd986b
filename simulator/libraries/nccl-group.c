/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations. Each is messages between ranks. A row of a table says which ranks send and receive,
 * and whether each peer gets its own part or all get the same. A group waits for nothing before all
 * its messages are queued.
 */
#include <stdlib.h>
#include <string.h>

#include "nccl.h"

enum { OPERATOR_AVERAGE = 4 };

static const struct {
    bool root_sends, root_receives; /* only the root, else every rank */
    bool parts_out, parts_in;       /* peer r has its own part, at r * size */
    bool reduces;                   /* received parts are combined */
} kinds[] = {
    [NCCL_ALL_REDUCE] = {.reduces = true},
    [NCCL_REDUCE] = {.root_receives = true, .reduces = true},
    [NCCL_REDUCE_SCATTER] = {.parts_out = true, .reduces = true},
    [NCCL_ALL_GATHER] = {.parts_in = true},
    [NCCL_BROADCAST] = {.root_sends = true},
    [NCCL_ALL_TO_ALL] = {.parts_out = true, .parts_in = true},
    [NCCL_GATHER] = {.root_receives = true, .parts_in = true},
    [NCCL_SCATTER] = {.root_sends = true, .parts_out = true},
};

/* The thread's open group. */
static _Thread_local struct {
    int depth;
    struct nccl_operation *first, **last;
    struct nccl_comm **joining;
    size_t joins;
} group __attribute__((tls_model("initial-exec")));

static enum nccl_result say(const struct nccl_operation *operation, int rank, size_t offset)
{
    const char *from = (const char *)operation->from + offset;
    bool is_empty = operation->size > sim_copy_limit() && !sim_is_written(from, operation->size);
    uint32_t flags =
        (is_empty ? NCCL_EMPTY : 0) | (sim_is_settled(sim_known(operation->from)) ? NCCL_KNOWN : 0);
    struct nccl_message *message =
        nccl_queue_add(&operation->comm->peers[rank].out, operation->kind | flags, operation->size);
    if (!message)
        return NCCL_SYSTEM_ERROR;
    if (is_empty)
        return NCCL_SUCCESS;
    enum nccl_result result = nccl_copy(message->bytes, from, operation->size);
    if (result)
        return result;
    if (operation->kind < NCCL_SEND && kinds[operation->kind].reduces)
        nccl_scale_by_operator(operation, message->bytes);
    return NCCL_SUCCESS;
}

static enum nccl_result expect(struct nccl_operation *operation, int rank, size_t offset)
{
    struct nccl_message *message =
        nccl_queue_add(&operation->comm->peers[rank].in, operation->kind, operation->size);
    if (!message)
        return NCCL_SYSTEM_ERROR;
    operation->in[operation->incoming++] = (struct nccl_incoming){message, offset};
    return NCCL_SUCCESS;
}

static enum nccl_result begin(struct nccl_operation *operation)
{
    const struct nccl_comm *comm = operation->comm;
    enum nccl_kind kind = operation->kind;
    bool root = comm->rank == operation->root;
    enum nccl_result result = NCCL_SUCCESS;
    if (comm->alone)
        return NCCL_SUCCESS;
    if (kind == NCCL_SEND)
        return say(operation, operation->root, 0);
    if (kind == NCCL_RECEIVE)
        return expect(operation, operation->root, 0);
    for (int rank = 0; rank < comm->size && !result; rank++) {
        bool peer_root = rank == operation->root;
        size_t part = (size_t)rank * operation->size;
        if ((root || !kinds[kind].root_sends) && (peer_root || !kinds[kind].root_receives))
            result = say(operation, rank, kinds[kind].parts_out ? part : 0);
        if (!result && (root || !kinds[kind].root_receives) &&
            (peer_root || !kinds[kind].root_sends))
            result = expect(operation, rank, kinds[kind].parts_in ? part : 0);
    }
    return result;
}

/* Combine all contributions into the first. */
static void reduce(struct nccl_operation *operation)
{
    char *into = operation->in[0].message->bytes;
    for (int i = 1; i < operation->incoming; i++)
        nccl_combine(into, operation->in[i].message->bytes, operation->count, operation->type,
                     operation->op);
    if (operation->op == OPERATOR_AVERAGE)
        nccl_scale(into, operation->count, operation->type, 1.0 / operation->comm->size);
}

static enum nccl_result finish(struct nccl_operation *operation)
{
    enum nccl_result result = NCCL_SUCCESS;
    bool reduces = operation->kind < NCCL_SEND && kinds[operation->kind].reduces, is_known = true;
    int writes = reduces && operation->incoming ? 1 : operation->incoming;
    if (reduces && operation->incoming)
        reduce(operation);
    for (int i = 0; i < operation->incoming; i++)
        is_known &= (operation->in[i].message->header[0] & NCCL_KNOWN) != 0;
    for (int i = 0; i < writes && !result; i++)
        result = nccl_copy((char *)operation->to + operation->in[i].offset,
                           operation->in[i].message->bytes, operation->size);
    if (operation->incoming)
        sim_know(operation->to, is_known ? SIM_KNOWN : SIM_UNKNOWN);
    return result;
}

static void destroy(struct nccl_operation *operation)
{
    for (int i = 0; i < operation->incoming; i++)
        free(operation->in[i].message);
    nccl_release(operation->comm);
    free(operation);
}

/* Return the communicators of a list of operations that have peers to talk to, each once. NULL: no
 * memory. */
static struct nccl_comm **comms_of(struct nccl_operation *first, size_t *count)
{
    size_t most = 0;
    for (struct nccl_operation *each = first; each; each = each->next)
        most++;
    struct nccl_comm **comms = malloc((most + 1) * sizeof(struct nccl_comm *));
    *count = 0;
    for (struct nccl_operation *each = first; comms && each; each = each->next) {
        size_t i = 0;
        while (i < *count && comms[i] != each->comm)
            i++;
        if (i == *count && !each->comm->alone)
            comms[(*count)++] = each->comm;
    }
    return comms;
}

static enum nccl_result run(struct nccl_operation *first)
{
    size_t count;
    struct nccl_comm **comms = comms_of(first, &count);
    enum nccl_result result = comms ? NCCL_SUCCESS : NCCL_SYSTEM_ERROR;
    for (struct nccl_operation *each = first; each && !result; each = each->next)
        result = begin(each);
    if (!result)
        result = nccl_exchange(comms, count);
    for (size_t i = 0; i < count && result; i++)
        nccl_forget(comms[i]);
    for (struct nccl_operation *each = first; each && !result; each = each->next)
        result = each->comm->alone ? nccl_do_alone(each, first) : finish(each);
    for (struct nccl_operation *each = first, *next; each; each = next) {
        next = each->next;
        destroy(each);
    }
    free(comms);
    return result;
}

static struct nccl_operation *copy_of(const struct nccl_operation *operation)
{
    size_t peers = operation->comm->alone ? 0 : (size_t)operation->comm->size;
    size_t parts = peers * sizeof(struct nccl_incoming);
    struct nccl_operation *copy = malloc(sizeof(*copy) + parts);
    if (!copy)
        return NULL;
    *copy = *operation;
    nccl_retain(operation->comm);
    return copy;
}

enum nccl_result nccl_submit(const struct nccl_operation *operation)
{
    struct nccl_operation *copy = copy_of(operation);
    if (!copy)
        return NCCL_SYSTEM_ERROR;
    if (!group.depth)
        return run(copy);
    if (!group.first)
        group.last = &group.first;
    *group.last = copy;
    group.last = &copy->next;
    return NCCL_SUCCESS;
}

/* Connect to all ranks before waiting for any: some may be in this thread. */
static enum nccl_result join(struct nccl_comm **comms, size_t count)
{
    enum nccl_result result = NCCL_SUCCESS;
    for (size_t i = 0; i < count && !result; i++)
        if (!comms[i]->alone && !atomic_load(&comms[i]->aborted))
            result = nccl_mesh_connect(comms[i]);
    for (size_t i = 0; i < count && !result; i++)
        if (!comms[i]->alone && !atomic_load(&comms[i]->aborted))
            result = nccl_mesh_accept(comms[i]);
    return result;
}

enum nccl_result nccl_join(struct nccl_comm *comm)
{
    if (!group.depth)
        return join(&comm, 1);
    struct nccl_comm **more =
        realloc(group.joining, (group.joins + 1) * sizeof(struct nccl_comm *));
    if (!more)
        return NCCL_SYSTEM_ERROR;
    nccl_retain(comm);
    more[group.joins++] = comm;
    group.joining = more;
    return NCCL_SUCCESS;
}

enum nccl_result nccl_gather_now(struct nccl_comm *comm, const void *mine, size_t size, void *all)
{
    struct nccl_operation *copy = copy_of(&(struct nccl_operation){
        .comm = comm, .kind = NCCL_ALL_GATHER, .from = mine, .to = all, .size = size});
    return copy ? run(copy) : NCCL_SYSTEM_ERROR;
}

int ncclGroupStart(void)
{
    group.depth++;
    return NCCL_SUCCESS;
}

int ncclGroupEnd(void)
{
    struct nccl_operation *first = group.first;
    struct nccl_comm **joining = group.joining;
    size_t joins = group.joins;
    if (!group.depth)
        return nccl_fail(NCCL_INVALID_USAGE, "ncclGroupEnd without ncclGroupStart");
    if (--group.depth)
        return NCCL_SUCCESS;
    group.first = NULL;
    group.joining = NULL;
    group.joins = 0;
    enum nccl_result result = join(joining, joins);
    for (size_t i = 0; i < joins; i++)
        nccl_release(joining[i]);
    free(joining);
    if (first) {
        enum nccl_result ran = run(first);
        if (!result)
            result = ran;
    }
    return (int)result;
}
