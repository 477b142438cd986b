/* SPDX-License-Identifier: Apache-2.0 */
#include "digests.h"
#include "compare/history/read-all.h"
#include "tools/memtap/terminal/command.h"

#include <inttypes.h>
#include <stdbool.h>
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

/* Return whether a digest has memory: one process of several may not have used the GPU. */
static bool has_memory(const struct mt_digests *digests)
{
    for (size_t i = 0; i < digests->n; i++)
        if (mt_digest_main_device(&digests->digest[i]))
            return true;
    return !digests->n;
}

static bool is_complete(const struct mt_digest *digest, mt_allowed_ends allowed, const char *it)
{
    char text[MT_ENDED_TEXT];
    if (!mt_is_allowed_end(allowed, &digest->ended))
        mt_fail("%s: ended: %s; %s must be complete; leave it out, or give --allow-ended %s%s",
                digest->path, mt_ended_text(text, &digest->ended), it,
                mt_ended_name(digest->ended.how),
                digest->ended.lacks_tail && digest->ended.how != MT_ENDED_OPEN ? ",open" : "");
    else if (digest->lost)
        mt_fail("%s: %" PRIu64 " events were lost; %s must have all events: record it again",
                digest->path, digest->lost, it);
    else
        return true;
    return false;
}

bool mt_digests_are_complete(const struct mt_digests *digests, mt_allowed_ends allowed,
                             const char *it)
{
    for (size_t i = 0; i < digests->n; i++)
        if (!is_complete(&digests->digest[i], allowed, it))
            return false;
    if (!has_memory(digests))
        mt_fail(
            "%s: no device memory was allocated; give the trace of the process that used the GPU",
            digests->digest->path);
    return has_memory(digests);
}

bool mt_digests_are_computed(const struct mt_digests *digests)
{
    for (size_t i = 0; i < digests->n; i++)
        if (*digests->digest[i].unsimulated) {
            mt_fail("%s: %s; simulate larger values (memtap run --values SIZE), or give "
                    "--allow-unknown",
                    digests->digest[i].path, digests->digest[i].unsimulated);
            return false;
        }
    return true;
}

static void print_text(const struct mt_digest *run, const struct mt_digest *baseline,
                       const char *what, const char *is, const char *was)
{
    if (*is && *was && strcmp(is, was))
        mt_say("%s: %s is %s, but was %s in %s; comparing anyway", run->path, what, is, was,
               baseline->path);
}

static void print_number(const struct mt_digest *run, const struct mt_digest *baseline,
                         const char *what, long is, long was)
{
    char now[24], before[24];
    snprintf(now, sizeof now, "%ld", is);
    snprintf(before, sizeof before, "%ld", was);
    print_text(run, baseline, what, is < 0 ? "" : now, was < 0 ? "" : before);
}

/* Compare only the first of each: the others belong to the same job. */
void mt_print_differences(const struct mt_digests *runs, const struct mt_digests *baselines)
{
    const struct mt_digest *run = runs->digest, *baseline = baselines->digest;
    if (!runs->n || !baselines->n)
        return;
    print_text(run, baseline, "the program", run->program, baseline->program);
    print_text(run, baseline, "the device", run->device_name, baseline->device_name);
    print_number(run, baseline, "the number of ranks", run->world_size, baseline->world_size);
    print_text(run, baseline, "PyTorch", run->torch, baseline->torch);
    print_text(run, baseline, "CUDA", run->cuda, baseline->cuda);
}
