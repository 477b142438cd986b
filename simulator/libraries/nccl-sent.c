/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rank simulated alone broadcasts to the whole job, kept for the ranks that run after it: a
 * file for each sender in the folder that CUDASIM_SENT names. The ranks of a job broadcast in the
 * same order, so the next row of a sender is the one that a receiver needs next.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nccl.h"
#include "say.h"

enum { PATH_SIZE = 4096, MOST_BYTES = 1 << 28 };

/* A row of a file; the bytes of a known content follow. */
struct row {
    uint64_t size;
    uint32_t type, is_known;
};

/* A file that is read, or written by this rank. */
static struct sender {
    struct sender *next;
    int rank, file;
    bool is_over; /* it has no further row for us */
} *senders;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int open_file(int rank, bool is_own)
{
    const char *folder = getenv("CUDASIM_SENT");
    char path[PATH_SIZE];
    if (!folder || snprintf(path, sizeof(path), "%s/%d", folder, rank) >= (int)sizeof(path))
        return -1;
    return open(path, (is_own ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY) | O_CLOEXEC, 0600);
}

static struct sender *find_sender(int rank, bool is_own)
{
    struct sender *sender = senders;
    while (sender && sender->rank != rank)
        sender = sender->next;
    if (sender)
        return sender;
    sender = calloc(1, sizeof(*sender));
    if (!sender)
        return NULL;
    *sender = (struct sender){.next = senders, .rank = rank, .file = open_file(rank, is_own)};
    sender->is_over = sender->file < 0;
    return senders = sender;
}

bool nccl_is_of_all(const struct nccl_comm *comm)
{
    return (uint64_t)comm->size == sim_environment("WORLD_SIZE", 0);
}

static bool write_row(const struct sender *sender, const struct nccl_operation *operation)
{
    enum sim_known known = sim_known(operation->from);
    bool is_known = known == SIM_KNOWN || known == SIM_EVEN;
    struct row row = {operation->size, (uint32_t)operation->type, is_known};
    void *bytes = is_known ? malloc(operation->size) : NULL;
    struct stat status;
    bool is_written = !fstat(sender->file, &status) && status.st_size < MOST_BYTES;
    if (is_known)
        is_written &= bytes && !nccl_copy(bytes, operation->from, operation->size);
    is_written =
        is_written && write(sender->file, &row, sizeof(row)) == sizeof(row) &&
        (!is_known || write(sender->file, bytes, operation->size) == (ssize_t)operation->size);
    free(bytes);
    return is_written;
}

void nccl_sent_put(const struct nccl_operation *operation)
{
    if (!nccl_is_of_all(operation->comm) || !getenv("CUDASIM_SENT"))
        return;
    pthread_mutex_lock(&lock);
    struct sender *sender = find_sender(operation->root, true);
    if (sender && !sender->is_over)
        sender->is_over = !write_row(sender, operation);
    pthread_mutex_unlock(&lock);
}

/* Read the next row into the operation's memory. */
static bool read_row(struct sender *sender, const struct nccl_operation *operation)
{
    struct row row;
    void *bytes;
    if (read(sender->file, &row, sizeof(row)) != sizeof(row))
        return false;
    if (row.size != operation->size || row.type != (uint32_t)operation->type) {
        sim_print("rank %d broadcasts %llu bytes where rank %d waits for %llu: their calls differ; "
                  "what it sends from here on is unknown",
                  sender->rank, (unsigned long long)row.size, operation->comm->rank,
                  (unsigned long long)operation->size);
        return false;
    }
    if (!row.is_known) {
        sim_know(operation->to, SIM_UNKNOWN);
        return true;
    }
    bytes = malloc(row.size);
    bool is_read = bytes && read(sender->file, bytes, row.size) == (ssize_t)row.size &&
                   !nccl_copy(operation->to, bytes, row.size);
    free(bytes);
    if (is_read)
        sim_know(operation->to, SIM_KNOWN);
    return is_read;
}

bool nccl_sent_take(const struct nccl_operation *operation)
{
    if (!nccl_is_of_all(operation->comm) || !getenv("CUDASIM_SENT"))
        return false;
    pthread_mutex_lock(&lock);
    struct sender *sender = find_sender(operation->root, false);
    bool is_taken = sender && !sender->is_over && read_row(sender, operation);
    if (sender)
        sender->is_over = !is_taken;
    pthread_mutex_unlock(&lock);
    return is_taken;
}
