/* SPDX-License-Identifier: Apache-2.0 */
/* Connect the ranks of a communicator: each has a socket to each of the others. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "nccl.h"
#include "say.h"

static _Thread_local char last_error[256];

enum nccl_result nccl_fail(enum nccl_result result, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(last_error, sizeof(last_error), format, args);
    va_end(args);
    sim_print("NCCL: %s", last_error);
    return result;
}

const char *nccl_last_error(void)
{
    return last_error;
}

struct nccl_wait nccl_wait_begin(void)
{
    uint64_t now = sim_now();
    return (struct nccl_wait){.deadline =
                                  now + sim_environment("CUDASIM_NCCL_TIMEOUT", 600) * 1000000000,
                              .report_at = now + sim_patience() * 1000000000};
}

int nccl_wait_milliseconds(const struct nccl_wait *wait)
{
    uint64_t end = wait->report_at < wait->deadline ? wait->report_at : wait->deadline,
             now = sim_now();
    return now < end ? (int)((end - now) / 1000000 + 1) : 0;
}

void nccl_wait_say(struct nccl_wait *wait, const struct nccl_comm *comm,
                   bool (*is_missing)(const struct nccl_comm *comm, int rank), const char *what)
{
    char ranks[120] = "";
    size_t used = 0;
    if (sim_now() < wait->report_at)
        return;
    wait->report_at = UINT64_MAX;
    for (int rank = 0; rank < comm->size; rank++) {
        if (!is_missing(comm, rank))
            continue;
        if (used > sizeof(ranks) - 20) {
            snprintf(ranks + used, sizeof(ranks) - used, " ...");
            break;
        }
        used +=
            (size_t)snprintf(ranks + used, sizeof(ranks) - used, "%s%d", used ? ", " : "", rank);
    }
    sim_print("NCCL: rank %d of %d has waited %llu s for %s to %s; still waiting", comm->rank,
              comm->size, (unsigned long long)sim_patience(), ranks, what);
}

static bool is_not_connected(const struct nccl_comm *comm, int rank)
{
    return rank != comm->rank && comm->peers[rank].socket < 0;
}

/* Write a name that ends with its socket: its first byte is 0. */
static socklen_t address_of(const struct nccl_comm *comm, int rank, struct sockaddr_un *address)
{
    char *name = address->sun_path + 1;
    int length = sprintf(name, "cudasim-nccl-");
    address->sun_family = AF_UNIX;
    address->sun_path[0] = 0;
    for (int i = 0; i < NCCL_ID_RANDOM; i++)
        length += sprintf(name + length, "%02x", comm->id.bytes[i]);
    length += sprintf(name + length, "-%d", rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

enum nccl_result nccl_mesh_open(struct nccl_comm *comm)
{
    struct sockaddr_un address;
    socklen_t length = address_of(comm, comm->rank, &address);
    comm->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (comm->listener < 0)
        return nccl_fail(NCCL_SYSTEM_ERROR, "cannot create a socket: %s", strerror(errno));
    if (!bind(comm->listener, (struct sockaddr *)&address, length) &&
        !listen(comm->listener, comm->size))
        return NCCL_SUCCESS;
    if (errno == EADDRINUSE)
        return nccl_fail(NCCL_INVALID_USAGE, "two processes claim to be rank %d of %d", comm->rank,
                         comm->size);
    return nccl_fail(NCCL_SYSTEM_ERROR, "cannot bind a socket: %s", strerror(errno));
}

static enum nccl_result nobody(const struct nccl_comm *comm, int rank)
{
    return nccl_fail(NCCL_SYSTEM_ERROR, "rank %d of %d gave up waiting for rank %d to start",
                     comm->rank, comm->size, rank);
}

/* Return whether a rank is lower and missing; higher ranks connect later. */
static bool is_below_and_missing(const struct nccl_comm *comm, int rank)
{
    return rank < comm->rank && comm->peers[rank].socket < 0;
}

/* Connect to a rank. Ranks start at any time: one that has not started yet refuses. */
static enum nccl_result connect_to(struct nccl_comm *comm, int rank, struct nccl_wait *wait)
{
    static const struct timespec pause = {.tv_nsec = 2000000};
    int32_t self[2] = {comm->rank, comm->size};
    struct sockaddr_un address;
    socklen_t length = address_of(comm, rank, &address);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return nccl_fail(NCCL_SYSTEM_ERROR, "cannot create a socket: %s", strerror(errno));
    while (connect(fd, (struct sockaddr *)&address, length)) {
        int error = errno;
        if (error != ECONNREFUSED && error != EINTR && error != EAGAIN) {
            close(fd);
            return nccl_fail(NCCL_SYSTEM_ERROR, "cannot connect to rank %d: %s", rank,
                             strerror(error));
        }
        if (sim_now() > wait->deadline || atomic_load(&comm->aborted)) {
            close(fd);
            return nobody(comm, rank);
        }
        nccl_wait_say(wait, comm, is_below_and_missing, "start");
        nanosleep(&pause, NULL);
    }
    comm->peers[rank].socket = fd;
    if (send(fd, self, sizeof(self), MSG_NOSIGNAL) != sizeof(self))
        return nccl_fail(NCCL_REMOTE_ERROR, "rank %d ended while it started", rank);
    return NCCL_SUCCESS;
}

enum nccl_result nccl_mesh_connect(struct nccl_comm *comm)
{
    struct nccl_wait wait = nccl_wait_begin();
    for (int rank = 0; rank < comm->rank; rank++) {
        enum nccl_result result = connect_to(comm, rank, &wait);
        if (result)
            return result;
    }
    return NCCL_SUCCESS;
}

/* Read which rank the peer claims to be. */
static enum nccl_result greet(struct nccl_comm *comm, int fd)
{
    int32_t other[2];
    if (recv(fd, other, sizeof(other), MSG_WAITALL) != sizeof(other)) {
        close(fd);
        return nccl_fail(NCCL_REMOTE_ERROR, "a rank ended while it started");
    }
    if (other[1] != comm->size || other[0] <= comm->rank || other[0] >= comm->size ||
        comm->peers[other[0]].socket >= 0) {
        close(fd);
        return nccl_fail(NCCL_INVALID_USAGE,
                         "rank %d of %d met a process that claims to be rank %d of %d", comm->rank,
                         comm->size, other[0], other[1]);
    }
    comm->peers[other[0]].socket = fd;
    return NCCL_SUCCESS;
}

enum nccl_result nccl_mesh_accept(struct nccl_comm *comm)
{
    struct nccl_wait waits = nccl_wait_begin();
    enum nccl_result result = NCCL_SUCCESS;
    for (int missing = comm->size - comm->rank - 1; missing && !result;) {
        struct pollfd wait = {.fd = comm->listener, .events = POLLIN};
        int ready = poll(&wait, 1, nccl_wait_milliseconds(&waits));
        int fd = ready > 0 ? accept4(comm->listener, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (fd >= 0) {
            result = greet(comm, fd);
            missing--;
        } else if (sim_now() > waits.deadline || atomic_load(&comm->aborted)) {
            result = nobody(comm, comm->size - 1);
        }
        if (missing && !result)
            nccl_wait_say(&waits, comm, is_not_connected, "start");
    }
    close(comm->listener);
    comm->listener = -1;
    return result;
}

void nccl_mesh_shut(struct nccl_comm *comm)
{
    if (comm->listener >= 0)
        shutdown(comm->listener, SHUT_RDWR);
    for (int rank = 0; rank < comm->size; rank++)
        if (comm->peers[rank].socket >= 0)
            shutdown(comm->peers[rank].socket, SHUT_RDWR);
}

void nccl_mesh_close(struct nccl_comm *comm)
{
    if (comm->listener >= 0)
        close(comm->listener);
    for (int rank = 0; rank < comm->size; rank++)
        if (comm->peers[rank].socket >= 0)
            close(comm->peers[rank].socket);
}
