/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL between processes. Unix sockets without a name in the file system connect the ranks of a
 * communicator: a killed rank leaves nothing behind, and its peers see the end of the stream
 * instead of waiting for ever. Contents up to CUDASIM_COPY_LIMIT are sent. Larger ones are not: no
 * kernel computed them.
 *
 * Functions return an NCCL result: 0, or one of these.
 */
#ifndef SIM_NCCL_H
#define SIM_NCCL_H

#include "calls.h"
#include "core/device/device.h"
#include "core/memory/content.h"
#include "core/memory/memory.h"
#include "core/memory/written.h"
#include "core/streams/stream.h"
#include "core/values/known.h"

enum nccl_result {
    NCCL_SUCCESS = 0,
    NCCL_CUDA_ERROR = 1,
    NCCL_SYSTEM_ERROR = 2,
    NCCL_INVALID_ARGUMENT = 4,
    NCCL_INVALID_USAGE = 5,
    NCCL_REMOTE_ERROR = 6,
};

struct nccl_id {
    unsigned char bytes[128]; /* the first NCCL_ID_RANDOM name the communicator */
};
enum { NCCL_ID_RANDOM = 16 };

/* A message to or from a peer, first in first out. */
struct nccl_message {
    struct nccl_message *next;
    size_t done;        /* of header and bytes */
    size_t size;        /* of the bytes that are sent */
    uint32_t header[2]; /* the kind of operation and flags; the number of bytes */
    char bytes[];
};

/* Flags besides the kind: the bytes are zero and are not sent; a program or a kernel that ran has
 * written them. A received message gets the sender's. */
enum { NCCL_EMPTY = 1 << 30, NCCL_KNOWN = 1 << 29 };

struct nccl_queue {
    struct nccl_message *first, **last;
};

struct nccl_peer {
    int socket; /* -1: none, or the rank itself */
    struct nccl_queue out, in;
};

/* NCCL's own operators, and how many custom ones a communicator may have at a time. */
enum { NCCL_OPERATORS = 5, NCCL_SCALARS = 16 };

struct nccl_comm {
    int size, rank, device;
    uint64_t allocated;        /* bytes of device memory */
    unsigned long long memory; /* its handle */
    struct nccl_id id;
    unsigned number; /* for a rank that is alone: its number among all ranks */
    bool alone;      /* the other ranks are absent and not connected */
    int listener;    /* until all ranks are connected */
    _Atomic bool aborted;
    _Atomic unsigned references; /* custom ones, and one for each running operation */
    struct nccl_peer *peers;
    struct nccl_scalar {
        bool used;
        double value;
    } scalars[NCCL_SCALARS];
};

#define NCCL_KIND(name, word) NCCL_##name,

enum nccl_kind { SIM_CALLS(NCCL_KIND) NCCL_SEND, NCCL_RECEIVE };

/* One call of the program. `size`: bytes that go from one rank to another. */
struct nccl_operation {
    struct nccl_operation *next;
    struct nccl_comm *comm;
    enum nccl_kind kind;
    const void *from;
    void *to;
    size_t count, size;
    int type, op, root; /* root: the peer of sends and receives */
    int incoming;
    struct nccl_incoming {
        struct nccl_message *message;
        size_t offset; /* in `to` */
    } in[];            /* one a rank */
};

/* Keep the reason of a failure for ncclGetLastError and print it on stderr. Return `result`. */
enum nccl_result nccl_fail(enum nccl_result result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *nccl_last_error(void);

/* Claim the name of a rank so that others can find it; then wait until all ranks are connected. */
enum nccl_result nccl_mesh_open(struct nccl_comm *comm);
enum nccl_result nccl_mesh_connect(struct nccl_comm *comm); /* to the lower ranks */
enum nccl_result nccl_mesh_accept(struct nccl_comm *comm);  /* of the higher ranks */
/* Wake the threads that wait for a message. Any thread. */
void nccl_mesh_shut(struct nccl_comm *comm);
void nccl_mesh_close(struct nccl_comm *comm);
/* A wait that prints once, after a while, which ranks it waits for, and ends at a deadline
 * (CUDASIM_NCCL_TIMEOUT). */
struct nccl_wait {
    uint64_t deadline, report_at; /* ns of sim_now(); report_at: UINT64_MAX once reported */
};
struct nccl_wait nccl_wait_begin(void);
/* Return the time until the next action, for poll. */
int nccl_wait_milliseconds(const struct nccl_wait *wait);
/* Print which ranks are missing, with the caller's word for each, when it is time. */
void nccl_wait_say(struct nccl_wait *wait, const struct nccl_comm *comm,
                   bool (*is_missing)(const struct nccl_comm *comm, int rank), const char *what);

/* Add a message of `size` bytes, zero, at the end of a queue; NULL: no memory. `kind`: with flags.
 */
struct nccl_message *nccl_queue_add(struct nccl_queue *queue, uint32_t kind, size_t size);
/* Send and receive until the queues of all these communicators are empty. The caller frees received
 * messages; sent messages are freed here. */
enum nccl_result nccl_exchange(struct nccl_comm **comms, size_t count);
/* Empty the queues after an error. */
void nccl_forget(struct nccl_comm *comm);

/* Execute an operation of a rank that is simulated alone. group: all that run at once. */
enum nccl_result nccl_do_alone(const struct nccl_operation *operation,
                               const struct nccl_operation *group);
/* Return whether a communicator has all ranks of the job, numbered as in the job. */
bool nccl_is_of_all(const struct nccl_comm *comm);
/* Record what a rank simulated alone broadcasts, for the ranks that run after it (CUDASIM_SENT). */
void nccl_sent_put(const struct nccl_operation *operation);
/* Provide a broadcast's content from a rank that ran before. Return whether it is known. */
bool nccl_sent_take(const struct nccl_operation *operation);
/* Multiply a rank's terms by the factor of its own operator, if that is one. */
void nccl_scale_by_operator(const struct nccl_operation *operation, void *terms);

/* Run an operation, or keep it for the end of the thread's group. Copies the operation. */
enum nccl_result nccl_submit(const struct nccl_operation *operation);
/* Wait for the ranks of a new communicator, or at the end of the group. */
enum nccl_result nccl_join(struct nccl_comm *comm);
/* Gather every rank's `size` bytes, in rank order, at once, even in a group. */
enum nccl_result nccl_gather_now(struct nccl_comm *comm, const void *mine, size_t size, void *all);
void nccl_retain(struct nccl_comm *comm);
void nccl_release(struct nccl_comm *comm);

/* Copy to or from the device, or within it, if the content is moved at all. */
enum nccl_result nccl_copy(void *to, const void *from, size_t size);
/* Return the largest content of a rank that is moved. Rows of bytes may be objects. */
size_t nccl_limit(int type);
/* Return the size of an element, 0 for an unknown type. */
size_t nccl_type_size(int type);
/* Return whether elements of this type can be added here; 8-bit floats cannot. */
bool nccl_type_adds(int type);
/* Compute into[i] = into[i] OPERATOR from[i]; operators beyond the named ones add. */
void nccl_combine(void *into, const void *from, size_t count, int type, int op);
/* Compute values[i] *= factor, for averages and operators with a factor. */
void nccl_scale(void *values, size_t count, int type, double factor);
double nccl_number(const void *value, int type);

#endif
