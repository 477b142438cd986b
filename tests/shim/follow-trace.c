/* SPDX-License-Identifier: Apache-2.0 */
/* follow-trace TRACE [read|turns]: reads a trace while its program writes it, from before it is
 * there until it has ended, and prints what it was given: events, definitions, a sum over all of
 * it, how often it began anew, the state. `read`: the same of a reader, once. A cudaMalloc of
 * alloc-threads says its thread and turn: one that is missing or given twice is told. `turns`: how
 * often something was lost, and how many turns each thread has come to. */
#include "trace-format/follow/follower.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST_THREADS 64

static struct {
    uint64_t events, definitions, lost, sum, wrong;
    uint64_t next[MOST_THREADS];  /* turn */
    uint64_t turns[MOST_THREADS]; /* also by what stands for the past */
    unsigned restarts;
} given;

static void add(const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        given.sum = (given.sum ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
}

static void take_event(const struct mt_event *event, int is_carried)
{
    add(&event->time_ns, sizeof event->time_ns);
    add(event->arg, sizeof event->arg);
    given.events++;
    given.lost += event->kind == MT_LOST;
    if (event->kind != MT_CUDA_MALLOC)
        return;
    uint64_t thread = event->size >> 32 & (MOST_THREADS - 1), turn = event->size & UINT32_MAX;
    if (given.turns[thread] <= turn)
        given.turns[thread] = turn + 1;
    if (is_carried)
        return;
    given.wrong += given.next[thread] && turn != given.next[thread];
    given.next[thread] = turn + 1;
}

static void take(const struct mt_batch *batch)
{
    for (size_t i = 0; i < batch->n_definitions; i++)
        add(batch->definitions[i].text, batch->definitions[i].text_size);
    given.definitions += batch->n_definitions;
    for (size_t i = 0; i < batch->n_events; i++)
        take_event(&batch->events[i], batch->is_carried);
}

static int print(enum mt_trace_state state)
{
    printf("%" PRIu64 " %" PRIu64 " %" PRIx64 " %" PRIu64 " %" PRIu64 " %u %s\n", given.events,
           given.definitions, given.sum, given.lost, given.wrong, given.restarts,
           mt_trace_state_names[state]);
    return 0;
}

static int print_turns(void)
{
    printf("%" PRIu64, given.lost);
    for (unsigned i = 0; i < MOST_THREADS; i++)
        printf(" %" PRIu64, given.turns[i]);
    return 0;
}

static int read_once(const char *path, bool is_of_turns)
{
    struct mt_reader *reader;
    struct mt_batch batch;
    struct mt_trace_error error;
    if (mt_reader_open(&reader, path, &error))
        return 1;
    while (mt_reader_next(reader, &batch, &error) > 0)
        take(&batch);
    return is_of_turns ? print_turns() : print(mt_reader_state(reader));
}

static struct mt_follower *open_trace(const char *path)
{
    struct mt_follower *follower;
    struct mt_trace_error error;
    while (mt_follower_open(&follower, path, &error))
        usleep(1000);
    return follower;
}

int main(int argc, char **argv)
{
    struct mt_batch batch;
    struct mt_trace_error error;
    if (argc > 2)
        return read_once(argv[1], !strcmp(argv[2], "turns"));
    struct mt_follower *follower = open_trace(argv[1]);
    while (!mt_follower_is_over(follower)) {
        int rc;
        while ((rc = mt_follower_next(follower, &batch, &error)) > 0)
            take(&batch);
        if (rc == -ESTALE) {
            mt_follower_close(follower);
            follower = open_trace(argv[1]);
            memset(given.next, 0, sizeof given.next);
            given.restarts++;
        } else if (rc < 0) {
            printf("%s\n", error.text);
            return 1;
        }
        usleep(3000);
    }
    print(mt_follower_state(follower));
    mt_follower_close(follower);
    return 0;
}
