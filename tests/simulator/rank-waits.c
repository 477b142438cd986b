/* SPDX-License-Identifier: Apache-2.0 */
/* rank-waits RANK HOW: a rank of three, whose communicator has a name that all know. HOW: starts
 * (it waits for all to start), reduces (rank 2 leaves the others alone in a call). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct comm;
struct id {
    char bytes[128];
};
int ncclCommInitRank(struct comm **out, int size, struct id id, int rank);
int ncclAllReduce(const void *, void *, size_t, int type, int op, struct comm *, void *stream);
int ncclMemAlloc(void **out, size_t size);

int main(int argc, char **argv)
{
    struct id id = {"rank-waits"};
    struct comm *comm;
    void *memory;
    int rank = argc > 2 ? atoi(argv[1]) : 0;

    for (int i = 0; i < 8; i++)
        id.bytes[8 + i] = (char)(getppid() >> (4 * i));
    if (argc < 3 || ncclCommInitRank(&comm, 3, id, rank) || ncclMemAlloc(&memory, 64))
        return 1;
    if (!strcmp(argv[2], "reduces") && rank == 2)
        pause();
    return ncclAllReduce(memory, memory, 4, 7, 0, comm, NULL);
}
