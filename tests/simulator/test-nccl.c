/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks in processes of their own: what is small arrives, and nobody waits for the dead. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catalogue.h"
#include "sim-test.h"

/* NCCL's header is not part of the toolkit that the build asks for. */
struct comm;
struct id {
    char bytes[128];
};
int ncclGetUniqueId(struct id *id);
int ncclCommInitRank(struct comm **out, int size, struct id id, int rank);
int ncclCommInitAll(struct comm **out, int size, const int *devices);
int ncclCommSplit(struct comm *whole, int color, int key, struct comm **out, void *config);
int ncclCommShrink(struct comm *whole, const int *left_out, int count, struct comm **out,
                   void *config, int flags);
int ncclCommCount(const struct comm *comm, int *count);
int ncclCommUserRank(const struct comm *comm, int *rank);
int ncclCommMemStats(const struct comm *comm, int what, uint64_t *value);
int ncclCommDestroy(struct comm *comm);
int ncclCommAbort(struct comm *comm);
const char *ncclGetLastError(const struct comm *comm);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclAllReduce(const void *, void *, size_t, int type, int op, struct comm *, void *stream);
int ncclReduce(const void *, void *, size_t, int type, int op, int root, struct comm *, void *);
int ncclReduceScatter(const void *, void *, size_t, int type, int op, struct comm *, void *);
int ncclAllGather(const void *, void *, size_t, int type, struct comm *, void *);
int ncclBroadcast(const void *, void *, size_t, int type, int root, struct comm *, void *);
int ncclAlltoAll(const void *, void *, size_t, int type, struct comm *, void *);
int ncclGather(const void *, void *, size_t, int type, int root, struct comm *, void *);
int ncclScatter(const void *, void *, size_t, int type, int root, struct comm *, void *);
int ncclSend(const void *, size_t, int type, int peer, struct comm *, void *);
int ncclRecv(void *, size_t, int type, int peer, struct comm *, void *);
int ncclRedOpCreatePreMulSum(int *op, void *scalar, int type, int residence, struct comm *);
int ncclRedOpDestroy(int op, struct comm *);

enum { INT8 = 0, INT32 = 2, INT64 = 4, HALF = 6, FLOAT = 7, BFLOAT16 = 9 };
enum { SUM, PRODUCT, MAX, MIN, AVERAGE };
enum { RANKS = 3 };
enum { CUDA_ERROR = 1, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, REMOTE_ERROR = 6 };

/* In a rank there is no test to fail: it ends, and says where. */
#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: rank %d: %s; last error: %s\n", __func__, __LINE__, rank,      \
                    #condition, ncclGetLastError(NULL));                                           \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

typedef void body(struct comm *comm, int rank);

static struct id start_ranks(int ranks, body *run, pid_t *pids)
{
    struct id id;

    ck_assert_int_eq(ncclGetUniqueId(&id), 0);
    for (int rank = 0; rank < ranks; rank++) {
        struct comm *comm;

        pids[rank] = fork();
        ck_assert_int_ge(pids[rank], 0);
        if (pids[rank])
            continue;
        use_gpu("h100");
        NEED(!ncclCommInitRank(&comm, ranks, id, rank));
        run(comm, rank);
        _exit(0);
    }
    return id;
}

static void with_ranks(body *run)
{
    pid_t pids[RANKS];
    int status;

    start_ranks(RANKS, run, pids);
    for (int rank = 0; rank < RANKS; rank++) {
        ck_assert_int_eq(waitpid(pids[rank], &status, 0), pids[rank]);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "rank %d: %#x", rank, status);
    }
}

/* Device memory with these numbers in it, and room for more. */
static int32_t *on_device(const int32_t *numbers, size_t count)
{
    int32_t *address;

    if (cudaMalloc((void **)&address, 256) ||
        cudaMemcpy(address, numbers, count * 4, cudaMemcpyHostToDevice))
        _exit(2);
    return address;
}

static bool holds(const int32_t *address, int32_t a, int32_t b, int32_t c)
{
    int32_t found[3];

    if (cudaMemcpy(found, address, sizeof(found), cudaMemcpyDeviceToHost))
        _exit(2);
    if (found[0] != a || found[1] != b || found[2] != c)
        fprintf(stderr, "found %d %d %d, not %d %d %d\n", found[0], found[1], found[2], a, b, c);
    return found[0] == a && found[1] == b && found[2] == c;
}

static void move_each_way(struct comm *comm, int rank)
{
    int32_t numbers[3] = {10 * rank + 1, 10 * rank + 2, 10 * rank + 3};
    int32_t *from = on_device(numbers, 3), *to = on_device((int32_t[3]){0}, 3);

    NEED(!ncclBroadcast(from, to, 3, INT32, 2, comm, NULL));
    NEED(holds(to, 21, 22, 23));
    NEED(!ncclAllGather(from, to, 1, INT32, comm, NULL));
    NEED(holds(to, 1, 11, 21));
    NEED(!ncclAlltoAll(from, to, 1, INT32, comm, NULL));
    NEED(holds(to, 1 + rank, 11 + rank, 21 + rank));
    NEED(!ncclScatter(from, to, 1, INT32, 1, comm, NULL));
    NEED(holds(to, 11 + rank, 11 + rank, 21 + rank));
    NEED(!ncclGather(from, to, 1, INT32, 1, comm, NULL));
    NEED(rank != 1 || holds(to, 1, 11, 21));
    NEED(!ncclReduce(from, to, 3, INT32, MAX, 0, comm, NULL));
    NEED(rank != 0 || holds(to, 21, 22, 23));
    NEED(!ncclReduceScatter(from, to, 1, INT32, SUM, comm, NULL));
    NEED(*to == 33 + 3 * rank);
    NEED(holds(from, numbers[0], numbers[1], numbers[2]));
    /* In place. */
    NEED(!ncclAllReduce(from, from, 3, INT32, SUM, comm, NULL));
    NEED(holds(from, 33, 36, 39));
    NEED(!ncclCommDestroy(comm));
}

START_TEST(every_collective_moves_what_is_small)
{
    with_ranks(move_each_way);
}
END_TEST

static void calculate(struct comm *comm, int rank)
{
    float *single;
    uint16_t *small;
    int64_t *whole;
    double factor = rank + 1;
    float scalar = (float)factor;
    int op;

    NEED(!cudaMalloc((void **)&single, 512));
    NEED(!cudaMalloc((void **)&small, 512));
    NEED(!cudaMalloc((void **)&whole, 512));
    *single = 1.5f * (float)(rank + 1);
    NEED(!ncclAllReduce(single, single, 1, FLOAT, AVERAGE, comm, NULL));
    NEED(*single == 3);
    NEED(!ncclAllReduce(single, single, 1, FLOAT, PRODUCT, comm, NULL));
    NEED(*single == 27);
    *small = (uint16_t)(0x3f80 + 0x80 * rank); /* 1, 2, 4 */
    NEED(!ncclAllReduce(small, small, 1, BFLOAT16, SUM, comm, NULL));
    NEED(*small == 0x40e0);                     /* 7 */
    *small = (uint16_t)(0x3c00 + 0x400 * rank); /* 1, 2, 4 */
    NEED(!ncclAllReduce(small, small, 1, HALF, MIN, comm, NULL));
    NEED(*small == 0x3c00);
    *whole = ((int64_t)1 << 60) + rank;
    NEED(!ncclAllReduce(whole, whole, 1, INT64, MAX, comm, NULL));
    NEED(*whole == ((int64_t)1 << 60) + 2);
    /* A factor of each rank's own. */
    *single = 10;
    NEED(!ncclRedOpCreatePreMulSum(&op, &scalar, FLOAT, 1, comm));
    NEED(!ncclAllReduce(single, single, 1, FLOAT, op, comm, NULL));
    NEED(*single == 60);
    NEED(!ncclRedOpDestroy(op, comm));
}

START_TEST(reductions_are_computed)
{
    with_ranks(calculate);
}
END_TEST

static void send_around(struct comm *comm, int rank)
{
    int32_t numbers[3] = {rank, rank, rank};
    int32_t *from = on_device(numbers, 3), *to = on_device((int32_t[3]){-1, -1, -1}, 3);
    char *large, *larger;

    /* Everybody sends before anybody receives, and to itself too. */
    NEED(!ncclGroupStart());
    for (int peer = 0; peer < RANKS; peer++)
        NEED(!ncclSend(from, 1, INT32, peer, comm, NULL));
    for (int peer = 0; peer < RANKS; peer++)
        NEED(!ncclRecv(to + peer, 1, INT32, peer, comm, NULL));
    NEED(holds(to, -1, -1, -1));
    NEED(!ncclGroupEnd());
    NEED(holds(to, 0, 1, 2));
    /* More than a socket holds, all at once. */
    NEED(!cudaMalloc((void **)&large, MIB(1) * RANKS));
    NEED(!cudaMalloc((void **)&larger, MIB(2)));
    memset(large + MIB(1) * (size_t)rank, rank + 1, MIB(1));
    NEED(!ncclAllGather(large + MIB(1) * (size_t)rank, large, MIB(1), INT8, comm, NULL));
    for (int peer = 0; peer < RANKS; peer++)
        NEED(large[MIB(1) * (size_t)(peer + 1) - 1] == peer + 1);
    /* Beyond the limit contents stay where they are, but for bytes: they may be an object. */
    NEED(!cudaMemcpy(larger + MIB(2) - 1, &(char){(char)(rank + 1)}, 1, cudaMemcpyHostToDevice));
    NEED(!ncclBroadcast(larger, larger, MIB(2) / 4, FLOAT, 0, comm, NULL));
    NEED(larger[MIB(2) - 1] == rank + 1);
    NEED(!ncclBroadcast(larger, larger, MIB(2), INT8, 0, comm, NULL));
    NEED(larger[MIB(2) - 1] == 1);
    /* What nobody wrote is zero for the others, too, and is not sent. */
    NEED(rank || !cudaMemset(larger, 0, MIB(2)));
    NEED(!ncclBroadcast(larger, larger, MIB(2), INT8, 0, comm, NULL));
    NEED(larger[MIB(2) - 1] == 0);
    NEED(!ncclAllReduce(larger, larger, MIB(2), INT8, SUM, comm, NULL));
    NEED(larger[MIB(2) - 1] == 0);
}

START_TEST(groups_and_large_messages)
{
    with_ranks(send_around);
}
END_TEST

static void divide(struct comm *comm, int rank)
{
    struct comm *part, *rest;
    int32_t *number = on_device((int32_t[1]){rank}, 1);
    int size, place;

    /* 0 and 2 in the reverse order; 1 alone; then nobody but 0. */
    NEED(!ncclCommSplit(comm, rank % 2, -rank, &part, NULL));
    NEED(!ncclCommCount(part, &size) && size == (rank == 1 ? 1 : 2));
    NEED(!ncclCommUserRank(part, &place) && place == (rank == 0));
    NEED(!ncclBroadcast(number, number, 1, INT32, 0, part, NULL));
    NEED(*number == (rank == 1 ? 1 : 2));
    NEED(!ncclCommDestroy(part));
    NEED(!ncclCommSplit(comm, rank ? -1 : 0, 0, &part, NULL));
    NEED(!part == !!rank);
    /* Without rank 1. */
    if (rank == 1)
        return;
    NEED(!ncclCommShrink(comm, (int[1]){1}, 1, &rest, NULL, 0));
    NEED(!ncclCommUserRank(rest, &place) && place == rank / 2);
    *number = rank + 1;
    NEED(!ncclAllReduce(number, number, 1, INT32, SUM, rest, NULL));
    NEED(*number == 4);
}

START_TEST(communicators_are_divided)
{
    with_ranks(divide);
}
END_TEST

/* Rank 1 dies, and rank 2 leaves; rank 0 must not wait for either. */
static void end_early(struct comm *comm, int rank)
{
    int32_t *number = on_device((int32_t[1]){rank}, 1);

    if (rank == 1)
        raise(SIGKILL);
    if (rank == 2) {
        ncclCommAbort(comm);
        return;
    }
    NEED(ncclAllReduce(number, number, 1, INT32, SUM, comm, NULL) == REMOTE_ERROR);
    NEED(strstr(ncclGetLastError(comm), "which has ended"));
    NEED(!ncclCommAbort(comm));
}

START_TEST(nobody_waits_for_the_dead)
{
    pid_t pids[RANKS];
    int status;

    start_ranks(RANKS, end_early, pids);
    for (int rank = 0; rank < RANKS; rank++) {
        ck_assert_int_eq(waitpid(pids[rank], &status, 0), pids[rank]);
        ck_assert_int_eq(status, rank == 1 ? SIGKILL : 0);
    }
}
END_TEST

/* Ranks that disagree get an error. */
static void disagree(struct comm *comm, int rank)
{
    int32_t *number = on_device((int32_t[2]){rank}, 2);

    if (rank == 0)
        NEED(!ncclSend(number, 2, INT32, 1, comm, NULL));
    if (rank == 1)
        NEED(ncclRecv(number, 1, INT32, 0, comm, NULL) == INVALID_USAGE);
    NEED(ncclSend(number, 1, INT32, RANKS, comm, NULL) == INVALID_ARGUMENT);
    NEED(ncclSend(number, 1, 99, 0, comm, NULL) == INVALID_ARGUMENT);
    /* Nobody else waits: */
    NEED(ncclSend(number, 1, INT32, rank, comm, NULL) == INVALID_USAGE);
}

START_TEST(wrong_calls_are_errors)
{
    struct comm *comm;
    struct id id;

    use_gpu("h100");
    with_ranks(disagree);
    ck_assert_int_eq(ncclGetUniqueId(&id), 0);
    ck_assert_int_eq(ncclCommInitRank(&comm, 2, id, 2), INVALID_ARGUMENT);
    ck_assert_int_eq(ncclCommInitRank(&comm, 0, id, 0), INVALID_ARGUMENT);
    ck_assert_int_eq(ncclGroupEnd(), INVALID_USAGE);
    /* The second device is not there: the first rank must not wait for it. */
    ck_assert_int_eq(ncclCommInitAll(&comm, 0, NULL), INVALID_ARGUMENT);
    ck_assert_int_eq(ncclCommInitAll((struct comm *[2]){NULL}, 2, NULL), CUDA_ERROR);
}
END_TEST

START_TEST(one_process_has_all_ranks)
{
    struct comm *comms[2];
    int32_t *numbers[2];

    use_gpu("h100");
    setenv("CUDASIM_GPUS", "2", 1);
    for (int rank = 0; rank < 2; rank++) {
        ck_cuda(cudaSetDevice(rank));
        numbers[rank] = on_device((int32_t[1]){rank + 1}, 1);
    }
    ck_assert_int_eq(ncclCommInitAll(comms, 2, NULL), 0);
    ck_assert_int_eq(ncclGroupStart(), 0);
    for (int rank = 0; rank < 2; rank++)
        ck_assert_int_eq(
            ncclAllReduce(numbers[rank], numbers[rank], 1, INT32, SUM, comms[rank], NULL), 0);
    ck_assert_int_eq(ncclGroupEnd(), 0);
    ck_assert_int_eq(*numbers[0], 3);
    ck_assert_int_eq(*numbers[1], 3);
}
END_TEST

START_TEST(a_communicator_allocates_on_its_device)
{
    struct comm *comms[2];
    size_t before;
    uint64_t taken;

    use_gpu("h100");
    setenv("CUDASIM_GPUS", "2", 1);
    before = available();
    ck_assert_int_eq(ncclCommInitAll(comms, 2, NULL), 0);
    ck_assert_int_eq(ncclCommMemStats(comms[0], 3, &taken), 0);
    ck_assert_uint_eq(taken, MIB(288));
    ck_assert_uint_eq(before - available(), taken);
    ck_assert_int_eq(ncclCommDestroy(comms[0]), 0);
    ck_assert_uint_eq(available(), before);
}
END_TEST

START_TEST(a_rank_is_alone)
{
    int32_t numbers[3] = {7, 8, 9}, *from, *to, *halves;
    struct comm *comm, *part;
    struct id id = {{0}};
    int rank;

    use_gpu("h100");
    setenv("CUDASIM_ALONE", "1", 1);
    setenv("WORLD_SIZE", "3", 1);
    setenv("RANK", "1", 1);
    from = on_device(numbers, 3);
    to = on_device((int32_t[3]){0}, 3);
    halves = on_device((int32_t[3]){0x3f000000, 0x3f800000, 0x40000000}, 3); /* 0.5, 1, 2 */
    ck_assert_int_eq(ncclCommInitRank(&comm, 4, id, 1), INVALID_USAGE);
    ck_assert_int_eq(ncclCommInitRank(&comm, 3, id, 2), INVALID_USAGE);
    ck_assert_int_eq(ncclCommInitRank(&comm, 3, id, 1), 0);
    ck_assert_int_eq(ncclAllReduce(from, to, 3, INT32, SUM, comm, NULL), 0);
    ck_assert(holds(to, 21, 24, 27));
    ck_assert_int_eq(ncclAllReduce(from, to, 3, INT32, PRODUCT, comm, NULL), 0);
    ck_assert(holds(to, 343, 512, 729));
    ck_assert_int_eq(ncclReduce(from, to, 3, INT32, AVERAGE, 1, comm, NULL), 0);
    ck_assert(holds(to, 7, 8, 9));
    ck_assert_int_eq(ncclAllReduce(from, to, 3, INT32, SUM, comm, NULL), 0);
    ck_assert_int_eq(ncclAllReduce(from, to, 3, INT32, MAX, comm, NULL), 0);
    ck_assert(holds(to, 7, 8, 9));
    ck_assert_int_eq(ncclAllReduce(halves, to, 3, FLOAT, SUM, comm, NULL), 0);
    ck_assert(holds(to, 0x3fc00000, 0x40400000, 0x40c00000)); /* 1.5, 3, 6 */
    ck_assert_int_eq(ncclAllReduce(from, to, 3, INT32, AVERAGE, comm, NULL), 0);
    ck_assert_int_eq(ncclReduceScatter(from, to, 1, INT32, SUM, comm, NULL), 0);
    ck_assert(holds(to, 24, 8, 9));
    ck_assert_int_eq(ncclAllGather(from, to, 1, INT32, comm, NULL), 0);
    ck_assert(holds(to, 7, 7, 7));
    ck_assert_int_eq(ncclAlltoAll(from, to, 1, INT32, comm, NULL), 0);
    ck_assert(holds(to, 8, 8, 8));
    /* Only a peer has the content: the memory stays as it is. */
    ck_assert_int_eq(ncclBroadcast(from, to, 3, INT32, 0, comm, NULL), 0);
    ck_assert_int_eq(ncclScatter(from, to, 1, INT32, 2, comm, NULL), 0);
    ck_assert_int_eq(ncclRecv(to, 3, INT32, 0, comm, NULL), 0);
    ck_assert(holds(to, 8, 8, 8));
    ck_assert_int_eq(ncclSend(from, 3, INT32, 2, comm, NULL), 0);
    /* What it does for itself stands for what they do. */
    ck_assert_int_eq(ncclGroupStart(), 0);
    for (int peer = 0; peer < 3; peer++) {
        ck_assert_int_eq(ncclSend(from + peer, 1, INT32, peer, comm, NULL), 0);
        ck_assert_int_eq(ncclRecv(to + peer, 1, INT32, peer, comm, NULL), 0);
    }
    ck_assert_int_eq(ncclGroupEnd(), 0);
    ck_assert(holds(to, 8, 8, 8));
    /* The others' colors are unknown, but not who is left out. */
    ck_assert_int_eq(ncclCommSplit(comm, 1, 0, &part, NULL), INVALID_USAGE);
    ck_assert_ptr_nonnull(strstr(ncclGetLastError(NULL), "ncclCommSplit"));
    ck_assert_int_eq(ncclCommSplit(comm, -1, 0, &part, NULL), 0);
    ck_assert_ptr_null(part);
    ck_assert_int_eq(ncclCommShrink(comm, (int[1]){0}, 1, &part, NULL, 0), 0);
    ck_assert_int_eq(ncclCommUserRank(part, &rank), 0);
    ck_assert_int_eq(rank, 0);
}
END_TEST

START_TEST(many_gather)
{
    enum { MANY = 40000 };
    static int32_t all[MANY];
    struct comm *comm;
    int32_t *to;

    use_gpu("h100");
    setenv("CUDASIM_ALONE", "1", 1);
    setenv("WORLD_SIZE", "40000", 1);
    setenv("RANK", "39999", 1);
    all[MANY - 1] = 7;
    ck_assert_int_eq(cudaMalloc((void **)&to, sizeof(all)), 0);
    ck_assert_int_eq(cudaMemcpy(to, all, sizeof(all), cudaMemcpyHostToDevice), 0);
    ck_assert_int_eq(ncclCommInitRank(&comm, MANY, (struct id){{0}}, MANY - 1), 0);
    ck_assert_int_eq(ncclAllGather(to + MANY - 1, to, 1, INT32, comm, NULL), 0);
    ck_assert_int_eq(cudaMemcpy(all, to, sizeof(all), cudaMemcpyDeviceToHost), 0);
    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(all[i], 7);
}
END_TEST

static size_t resident_pages(void *address, size_t size)
{
    static unsigned char pages[MIB(16) / 4096];
    size_t count = 0;

    ck_assert_uint_le(size, MIB(16));
    ck_assert_int_eq(mincore(address, size, pages), 0);
    for (size_t i = 0; i < size / 4096; i++)
        count += pages[i] & 1;
    return count;
}

/* A small part makes a large whole among many ranks. */
START_TEST(what_is_large_together_is_not_moved)
{
    enum { MANY = 1024, PART = 1024 };
    static int32_t part[PART];
    struct comm *comm;
    int32_t *from, *to, *small;
    size_t whole = (size_t)MANY * PART * 4;

    use_gpu("h100");
    setenv("CUDASIM_ALONE", "1", 1);
    setenv("WORLD_SIZE", "1024", 1);
    setenv("RANK", "5", 1);
    for (int i = 0; i < PART; i++)
        part[i] = 0x3f800000; /* 1.0 */
    ck_cuda(cudaMalloc((void **)&from, whole));
    ck_cuda(cudaMalloc((void **)&to, whole));
    ck_cuda(cudaMalloc((void **)&small, (size_t)MANY * 4));
    for (int rank = 0; rank < 6; rank++)
        ck_cuda(cudaMemcpy(from + rank * PART, part, sizeof(part), cudaMemcpyHostToDevice));
    ck_assert_int_eq(ncclCommInitRank(&comm, MANY, (struct id){{0}}, 5), 0);
    ck_assert_int_eq(ncclAllGather(from, to, PART, FLOAT, comm, NULL), 0);
    ck_assert_int_eq(ncclAlltoAll(from, to, PART, FLOAT, comm, NULL), 0);
    ck_assert_int_eq(ncclReduceScatter(from, to, PART, FLOAT, SUM, comm, NULL), 0);
    ck_assert_uint_eq(resident_pages(to, whole), 0);
    ck_assert_int_eq(ncclAllGather(from, small, 1, FLOAT, comm, NULL), 0);
    ck_assert_int_eq(small[MANY - 1], 0x3f800000);
    ck_assert_int_eq(ncclAllGather(from, to, PART, INT32, comm, NULL), 0); /* counts steer */
    ck_assert_int_eq(to[MANY * PART - 1], 0x3f800000);
    ck_assert_uint_eq(resident_pages(to, whole), whole / 4096);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("nccl");

    tcase_add_test(tests, every_collective_moves_what_is_small);
    tcase_add_test(tests, reductions_are_computed);
    tcase_add_test(tests, groups_and_large_messages);
    tcase_add_test(tests, communicators_are_divided);
    tcase_add_test(tests, nobody_waits_for_the_dead);
    tcase_add_test(tests, wrong_calls_are_errors);
    tcase_add_test(tests, one_process_has_all_ranks);
    tcase_add_test(tests, a_rank_is_alone);
    tcase_add_test(tests, many_gather);
    tcase_add_test(tests, what_is_large_together_is_not_moved);
    tcase_add_test(tests, a_communicator_allocates_on_its_device);
    return RUN_TESTS(tests);
}
