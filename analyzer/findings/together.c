/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The peak of all processes on a card at the same time: their traces are replayed side by side, by
 * their clocks, each a few thousand events ahead.
 */
#include "analyzer/replay/follow.h"
#include "analyzer/support/grow.h"
#include "job.h"

#include <errno.h>
#include <stdlib.h>

#define EVENTS_AHEAD 16384u
#define MOST_PROCESSES 64u /* of a card: each is a replay in memory */

struct level {
    uint64_t ns, bytes; /* ns: as clock_gettime(CLOCK_REALTIME) counts */
};

struct process {
    struct mt_job_rank *rank;
    struct mt_follow *follow; /* NULL: read to its end */
    struct mt_question question;
    struct mt_watcher watcher;
    struct level *ahead;
    size_t n, capacity, next;
    uint64_t last, now; /* bytes at the last event read, and at the common time */
};

static int saw(void *data, const struct mt_replay *replay, const struct mt_event *event)
{
    struct process *process = data;
    const struct mt_level *level = mt_replay_level(replay, process->rank->of_cuda);
    uint64_t bytes = level->now[mt_device_slot(process->rank->device)].allocated;
    if (bytes == process->last)
        return 0;
    process->last = bytes;
    return MT_APPEND(process->ahead, process->capacity, process->n,
                     (struct level){process->rank->begin_ns + event->time_ns, bytes});
}

static int open_trace(struct process *process)
{
    struct mt_trace_error error;
    process->watcher = (struct mt_watcher){saw, process};
    process->question =
        (struct mt_question){.moment = {MT_AT_END, 0}, .watcher = &process->watcher};
    return mt_follow_open(&process->follow, process->rank->path, &process->question, &error);
}

/* Read on until the next level is known. A process that has ended has none. */
static int read_on(struct process *process)
{
    struct mt_trace_error error;
    while (process->follow && process->next == process->n) {
        process->n = process->next = 0;
        int rc = mt_follow_poll(process->follow, EVENTS_AHEAD, &error);
        if (rc > 0 && !mt_follow_restarts(process->follow))
            continue;
        if (rc == -ENOMEM || mt_follow_restarts(process->follow))
            return -EAGAIN;
        mt_follow_close(process->follow);
        process->follow = NULL;
        return MT_APPEND(process->ahead, process->capacity, process->n,
                         (struct level){process->rank->last_ns, 0});
    }
    return 0;
}

/* Find the process with the earliest next level; *first is NULL if all have ended. */
static int find_first(struct process *processes, size_t n, struct process **first)
{
    *first = NULL;
    for (struct process *process = processes; process < processes + n; process++) {
        int rc = read_on(process);
        if (rc)
            return rc;
        if (process->next < process->n &&
            (!*first || process->ahead[process->next].ns < (*first)->ahead[(*first)->next].ns))
            *first = process;
    }
    return 0;
}

static int follow(struct process *processes, size_t n)
{
    struct mt_job_rank *card = processes->rank;
    struct process *next;
    uint64_t sum = 0;
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++)
        rc = processes[i].rank->has_every_level ? open_trace(&processes[i]) : -EINVAL;
    while (!rc && !(rc = find_first(processes, n, &next)) && next) {
        const struct level *level = &next->ahead[next->next++];
        sum += level->bytes - next->now;
        next->now = level->bytes;
        if (sum <= card->card_most)
            continue;
        card->card_most = sum;
        card->card_ns = level->ns;
        for (size_t i = 0; i < n; i++)
            processes[i].rank->together = processes[i].now;
    }
    return rc;
}

void mt_job_follow_cards(struct mt_job_rank *ranks, size_t n)
{
    struct process processes[MOST_PROCESSES];
    struct mt_card_share share;
    for (size_t first = 0; first < n; first++) {
        size_t of_card = 0;
        if (!mt_card_share_find(&share, ranks, n, first) || share.n > MOST_PROCESSES)
            continue;
        for (size_t i = first; i < n; i++)
            if (mt_card_share_has(&share, ranks, i))
                processes[of_card++] = (struct process){.rank = &ranks[i]};
        if (follow(processes, of_card))
            ranks[first].card_most = 0;
        for (size_t i = 0; i < of_card; i++) {
            mt_follow_close(processes[i].follow);
            free(processes[i].ahead);
        }
    }
}
