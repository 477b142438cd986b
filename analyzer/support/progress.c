/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define FIRST_NS 1000000000u
#define EACH_NS 100000000u

uint64_t mt_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void mt_progress_begin(struct mt_progress *progress)
{
    *progress = (struct mt_progress){.is_wanted = isatty(STDERR_FILENO)};
    if (progress->is_wanted)
        progress->next_ns = mt_now_ns() + FIRST_NS;
}

void mt_progress_reach(struct mt_progress *progress, const struct mt_batch *batch)
{
    uint64_t now = progress->is_wanted ? mt_now_ns() : 0;
    if (!progress->is_wanted || now < progress->next_ns || !batch->file_size)
        return;
    /* A trace that is being written may have grown. */
    uint64_t done = batch->offset < batch->file_size ? batch->offset : batch->file_size;
    fprintf(stderr, "\rmemtap: %3.0f %% of the %s read\033[K",
            100.0 * (double)done / (double)batch->file_size,
            batch->is_older ? "older segment" : "trace");
    fflush(stderr);
    progress->is_shown = true;
    progress->next_ns = now + EACH_NS;
}

void mt_progress_end(struct mt_progress *progress)
{
    if (progress->is_shown)
        fputs("\r\033[K", stderr);
}
