/* SPDX-License-Identifier: Apache-2.0 */
#include "read-all.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

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
            mt_digest_ask(reading->digest, reading->path, reading->question, &reading->error);
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
