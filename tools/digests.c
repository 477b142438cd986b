/* SPDX-License-Identifier: Apache-2.0 */
#include "digests.h"
#include "command.h"
#include "nightly/read-all.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int mt_digests_read(struct mt_digests *digests, char *const *paths, size_t n,
                    const struct mt_user_rules *rules)
{
    const struct mt_question question = {.rules = rules};
    struct mt_reading *readings = calloc(n + 1, sizeof *readings);
    int rc = 0;
    *digests = (struct mt_digests){.digest = calloc(n + 1, sizeof *digests->digest)};
    if (!readings || !digests->digest) {
        free(readings);
        mt_fail("out of memory");
        return -1;
    }
    digests->n = n;
    for (size_t i = 0; i < n; i++)
        readings[i] = (struct mt_reading){
            .path = paths[i], .question = &question, .digest = &digests->digest[i]};
    mt_read_all(readings, n);
    for (size_t i = 0; i < n && !rc; i++)
        if ((rc = readings[i].rc))
            mt_fail_trace(paths[i], &readings[i].error);
    free(readings);
    return rc ? -1 : 0;
}

void mt_digests_clear(struct mt_digests *digests)
{
    for (size_t i = 0; i < digests->n; i++)
        mt_digest_clear(&digests->digest[i]);
    free(digests->digest);
    *digests = (struct mt_digests){0};
}

static int is_whole(const struct mt_digest *digest, const char *it)
{
    if (!digest->is_sound)
        mt_fail("%s: %s; %s must be whole: record it again", digest->path, digest->fault, it);
    else if (!digest->complete)
        mt_fail("%s: it was not recorded up to its end; %s must be whole: record it again",
                digest->path, it);
    else if (digest->lost)
        mt_fail("%s: %" PRIu64 " events were lost; %s must have all: record it again", digest->path,
                digest->lost, it);
    else if (!mt_digest_main_device(digest))
        mt_fail(
            "%s: no memory was allocated in it; give the trace of the process that used the GPU",
            digest->path);
    else
        return 1;
    return 0;
}

int mt_digests_are_whole(const struct mt_digests *digests, const char *it)
{
    for (size_t i = 0; i < digests->n; i++)
        if (!is_whole(&digests->digest[i], it))
            return 0;
    return 1;
}

static void tell_text(const struct mt_digest *run, const struct mt_digest *baseline,
                      const char *what, const char *is, const char *was)
{
    if (*is && *was && strcmp(is, was))
        mt_say("%s: %s is %s, but that of %s was %s; they are compared nevertheless", run->path,
               what, is, baseline->path, was);
}

static void tell_number(const struct mt_digest *run, const struct mt_digest *baseline,
                        const char *what, long is, long was)
{
    char now[24], before[24];
    snprintf(now, sizeof now, "%ld", is);
    snprintf(before, sizeof before, "%ld", was);
    tell_text(run, baseline, what, is < 0 ? "" : now, was < 0 ? "" : before);
}

/* The first of each tells of all: they are of one job, and were made beside each other. */
void mt_tell_differences(const struct mt_digests *runs, const struct mt_digests *baselines)
{
    const struct mt_digest *run = runs->digest, *baseline = baselines->digest;
    if (!runs->n || !baselines->n)
        return;
    tell_text(run, baseline, "the program", run->program, baseline->program);
    tell_text(run, baseline, "the device", run->device_name, baseline->device_name);
    tell_number(run, baseline, "the number of ranks", run->world_size, baseline->world_size);
    tell_text(run, baseline, "PyTorch", run->torch, baseline->torch);
    tell_text(run, baseline, "CUDA", run->cuda, baseline->cuda);
}
