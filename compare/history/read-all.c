/* SPDX-License-Identifier: Apache-2.0 */
#include "read-all.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define MOST_READERS 8

struct work {
    struct mt_reading *readings;
    size_t n;
    atomic_size_t next;
};

static void *read_some(void *data)
{
    struct work *work = data;
    for (size_t i; (i = atomic_fetch_add(&work->next, 1)) < work->n;) {
        struct mt_reading *reading = &work->readings[i];
        reading->rc =
            mt_digest_query(reading->digest, reading->path, reading->question, &reading->error);
    }
    return NULL;
}

static size_t count_processors(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return n > MOST_READERS ? MOST_READERS : (size_t)n;
}

void mt_read_all(struct mt_reading *readings, size_t n)
{
    struct work work = {.readings = readings, .n = n};
    pthread_t thread[MOST_READERS];
    size_t helpers = 0, processors = count_processors();
    while (helpers + 1 < processors && helpers + 1 < n &&
           !pthread_create(&thread[helpers], NULL, read_some, &work))
        helpers++;
    read_some(&work);
    while (helpers)
        pthread_join(thread[--helpers], NULL);
}

/* A run that is read again. */
struct again {
    struct mt_question question;
    struct mt_digest *of;
};

static bool wants_phase(const struct mt_digest *digest, enum mt_phase phase)
{
    const struct mt_digest_device *device = mt_digest_main_device(digest);
    return device && device->phase != phase && device->most_event[phase] &&
           !digest->in_phase[phase];
}

static size_t plan(struct again *again, struct mt_digest *digests, size_t n, enum mt_phase phase,
                   const struct mt_question *question)
{
    size_t planned = 0;
    for (size_t i = 0; i < n; i++) {
        if (!wants_phase(&digests[i], phase))
            continue;
        const struct mt_digest_device *device = mt_digest_main_device(&digests[i]);
        again[planned] = (struct again){*question, &digests[i]};
        again[planned++].question.moment =
            (struct mt_moment){MT_AT_EVENT, device->most_event[phase]};
    }
    return planned;
}

static int read_again(struct again *again, size_t n, struct mt_reading *readings,
                      enum mt_phase phase)
{
    for (size_t i = 0; i < n; i++)
        readings[i] = (struct mt_reading){.path = again[i].of->path,
                                          .question = &again[i].question,
                                          .digest = calloc(1, sizeof *readings[i].digest)};
    for (size_t i = 0; i < n; i++)
        if (!readings[i].digest)
            return -ENOMEM;
    mt_read_all(readings, n);
    for (size_t i = 0; i < n; i++)
        if (!readings[i].rc) {
            mt_digest_attach(again[i].of, phase, readings[i].digest);
            readings[i].digest = NULL;
        }
    return 0;
}

int mt_read_in_phase(struct mt_digest *digests, size_t n, enum mt_phase phase,
                     const struct mt_question *question)
{
    struct again *again = calloc(n + 1, sizeof *again);
    struct mt_reading *readings = calloc(n + 1, sizeof *readings);
    int rc = again && readings ? 0 : -ENOMEM;
    size_t planned = rc ? 0 : plan(again, digests, n, phase, question);
    if (planned)
        rc = read_again(again, planned, readings, phase);
    for (size_t i = 0; i < planned; i++)
        if (readings[i].digest) {
            mt_digest_clear(readings[i].digest);
            free(readings[i].digest);
        }
    free(readings);
    free(again);
    return rc ? rc : (int)planned;
}

int mt_diff_runs(struct mt_diff *diff, struct mt_digest *runs, size_t n_old, size_t n_new,
                 const struct mt_question *question)
{
    int rc = mt_diff_make(diff, runs, n_old, runs + n_old, n_new);
    int phase = rc ? -1 : mt_diff_wants_phase(diff);
    if (phase < 0)
        return rc;
    mt_diff_clear(diff);
    rc = mt_read_in_phase(runs, n_old + n_new, (enum mt_phase)phase, question);
    return rc < 0 ? rc : mt_diff_make(diff, runs, n_old, runs + n_old, n_new);
}
