/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "calls.h"
#include "nccl.h"

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

void nccl_note_call(const struct nccl_operation *operation)
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
