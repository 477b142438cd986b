/* SPDX-License-Identifier: Apache-2.0 */
/* Send and receive messages all at once, so that no order of the ranks' calls can block them. */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "nccl.h"

struct nccl_message *nccl_queue_add(struct nccl_queue *queue, uint32_t kind, size_t size)
{
    struct nccl_message *message = calloc(1, sizeof(*message) + size);
    if (!message)
        return NULL;
    message->header[0] = kind;
    message->header[1] = (uint32_t)size;
    message->size = kind & NCCL_EMPTY ? 0 : size;
    if (!queue->first)
        queue->last = &queue->first;
    *queue->last = message;
    queue->last = &message->next;
    return message;
}

static struct nccl_message *take(struct nccl_queue *queue)
{
    struct nccl_message *message = queue->first;
    queue->first = message->next;
    return message;
}

/* Return the kind that the peer must send: a receive needs a send. */
static uint32_t expected(uint32_t kind)
{
    return kind == NCCL_RECEIVE ? NCCL_SEND : kind;
}

static enum nccl_result check(const struct nccl_comm *comm, int rank, struct nccl_message *message,
                              const uint32_t header[2])
{
    const uint32_t flags = NCCL_EMPTY | NCCL_KNOWN;
    if ((header[0] & ~flags) == expected(message->header[0]) && header[1] == message->header[1]) {
        message->header[0] |= header[0] & flags;
        if (header[0] & NCCL_EMPTY)
            message->size = 0;
        return NCCL_SUCCESS;
    }
    return nccl_fail(NCCL_INVALID_USAGE,
                     "rank %d of %d expects %u bytes from rank %d, which sends %u in another call: "
                     "ranks must make the same calls in the same order",
                     comm->rank, comm->size, message->header[1], rank, header[1]);
}

static size_t rest(const struct nccl_message *message)
{
    return sizeof(message->header) + message->size - message->done;
}

/* Return the place of a message's rest. */
static char *at(struct nccl_message *message)
{
    return (char *)message + offsetof(struct nccl_message, header) + message->done;
}

static bool complete(const struct nccl_message *message)
{
    return rest(message) == 0;
}

static enum nccl_result gone(const struct nccl_comm *comm, int rank)
{
    if (atomic_load(&comm->aborted))
        return nccl_fail(NCCL_REMOTE_ERROR, "the communicator of rank %d of %d was aborted",
                         comm->rank, comm->size);
    return nccl_fail(NCCL_REMOTE_ERROR, "rank %d of %d waits for rank %d, which has ended",
                     comm->rank, comm->size, rank);
}

static bool later(ssize_t moved)
{
    return moved < 0 && (errno == EAGAIN || errno == EINTR);
}

static enum nccl_result send_out(struct nccl_comm *comm, int rank)
{
    struct nccl_peer *peer = &comm->peers[rank];
    while (peer->out.first) {
        struct nccl_message *message = peer->out.first;
        /* In one piece: a peer that reads an invalid header may end before the bytes arrive. */
        ssize_t sent = send(peer->socket, at(message), rest(message), MSG_DONTWAIT | MSG_NOSIGNAL);

        if (later(sent))
            break;
        if (sent < 0)
            return gone(comm, rank);
        message->done += (size_t)sent;
        if (complete(message))
            free(take(&peer->out));
    }
    return NCCL_SUCCESS;
}

/* Receive a header. Headers are small and arrive in one piece: read one when it is complete. */
static enum nccl_result receive_header(struct nccl_comm *comm, int rank,
                                       struct nccl_message *message, ssize_t *got)
{
    uint32_t header[2];
    *got = recv(comm->peers[rank].socket, header, sizeof(header), MSG_DONTWAIT | MSG_PEEK);
    if (*got != sizeof(header))
        return NCCL_SUCCESS;
    *got = recv(comm->peers[rank].socket, header, sizeof(header), MSG_DONTWAIT);
    return check(comm, rank, message, header);
}

static enum nccl_result receive_in(struct nccl_comm *comm, int rank)
{
    struct nccl_peer *peer = &comm->peers[rank];
    while (peer->in.first) {
        struct nccl_message *message = peer->in.first;
        enum nccl_result result = NCCL_SUCCESS;
        ssize_t got;
        if (message->done < sizeof(message->header))
            result = receive_header(comm, rank, message, &got);
        else
            got = recv(peer->socket, at(message), rest(message), MSG_DONTWAIT);
        if (result)
            return result;
        if (later(got) || (got > 0 && got < (ssize_t)sizeof(message->header) && !message->done))
            break;
        if (got <= 0)
            return gone(comm, rank);
        message->done += (size_t)got;
        if (complete(message))
            take(&peer->in);
    }
    return NCCL_SUCCESS;
}

/* Pass a message on: a rank needs no socket to itself. */
static enum nccl_result pass_on(struct nccl_comm *comm)
{
    struct nccl_peer *self = &comm->peers[comm->rank];
    while (self->in.first && self->out.first) {
        struct nccl_message *from = take(&self->out), *to = take(&self->in);
        enum nccl_result result = check(comm, comm->rank, to, from->header);
        if (!result)
            memcpy(to->bytes, from->bytes, from->size);
        free(from);
        if (result)
            return result;
    }
    if (self->in.first || self->out.first)
        return nccl_fail(NCCL_INVALID_USAGE,
                         "rank %d of %d sends to itself and does not receive that in the same "
                         "group, or vice versa",
                         comm->rank, comm->size);
    return NCCL_SUCCESS;
}

static enum nccl_result move(struct nccl_comm *comm)
{
    enum nccl_result result = pass_on(comm);
    for (int rank = 0; rank < comm->size && !result; rank++) {
        if (comm->peers[rank].out.first)
            result = send_out(comm, rank);
        if (!result && comm->peers[rank].in.first)
            result = receive_in(comm, rank);
    }
    return result;
}

/* Set the events to wait for, at most one entry per peer. Return their number. */
static size_t waits_of(const struct nccl_comm *comm, struct pollfd *waits)
{
    size_t count = 0;
    for (int rank = 0; rank < comm->size; rank++) {
        const struct nccl_peer *peer = &comm->peers[rank];
        int events = (peer->out.first ? POLLOUT : 0) | (peer->in.first ? POLLIN : 0);
        if (events)
            waits[count++] = (struct pollfd){.fd = peer->socket, .events = (short)events};
    }
    return count;
}

static bool is_awaited(const struct nccl_comm *comm, int rank)
{
    return comm->peers[rank].in.first || comm->peers[rank].out.first;
}

static enum nccl_result too_long(const struct nccl_comm *comm)
{
    for (int rank = 0; rank < comm->size; rank++)
        if (is_awaited(comm, rank))
            return nccl_fail(NCCL_SYSTEM_ERROR, "rank %d of %d gave up waiting for rank %d",
                             comm->rank, comm->size, rank);
    return NCCL_SYSTEM_ERROR;
}

static enum nccl_result exchange(struct nccl_comm **comms, size_t count, struct pollfd *waits)
{
    struct nccl_wait wait = nccl_wait_begin();
    for (;;) {
        enum nccl_result result;
        size_t waiting = 0;
        for (size_t i = 0; i < count; i++) {
            result = move(comms[i]);
            if (result)
                return result;
            waiting += waits_of(comms[i], waits + waiting);
        }
        if (!waiting)
            return NCCL_SUCCESS;
        if (poll(waits, waiting, nccl_wait_milliseconds(&wait)))
            continue;
        for (size_t i = 0; i < count; i++)
            if (waits_of(comms[i], waits) && sim_now() > wait.deadline)
                return too_long(comms[i]);
        for (size_t i = 0; i < count; i++)
            if (waits_of(comms[i], waits))
                nccl_wait_say(&wait, comms[i], is_awaited, "make the same call");
    }
}

enum nccl_result nccl_exchange(struct nccl_comm **comms, size_t count)
{
    size_t peers = 1;
    for (size_t i = 0; i < count; i++)
        peers += (size_t)comms[i]->size;
    struct pollfd *waits = calloc(peers, sizeof(*waits));
    enum nccl_result result = waits ? exchange(comms, count, waits) : NCCL_SYSTEM_ERROR;
    free(waits);
    return result;
}

void nccl_forget(struct nccl_comm *comm)
{
    for (int rank = 0; rank < comm->size; rank++) {
        while (comm->peers[rank].out.first)
            free(take(&comm->peers[rank].out));
        comm->peers[rank].in.first = NULL; /* the caller's */
    }
}
