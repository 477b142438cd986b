/* SPDX-License-Identifier: Apache-2.0 */
#include "night-steps.h"
#include "compare/check/check-words.h"
#include "compare/diff/diff-words.h"
#include "revision.h"
#include "tools/memtap/terminal/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COMMITS_SHOWN 3u
#define DAY_NS (24 * UINT64_C(3600000000000))

bool mt_are_simulated(const struct mt_digests *runs, const struct mt_digests *others)
{
    const char *card = runs->n ? runs->digest->device_name : "";
    bool are = *card;
    for (size_t i = 0; i < runs->n; i++)
        are &= !strcmp(runs->digest[i].device_name, card);
    for (size_t i = 0; i < others->n; i++)
        are &= !strcmp(others->digest[i].device_name, card);
    return are;
}

void mt_keep_newest_night(struct mt_digests *nights)
{
    size_t first = nights->n;
    while (first && nights->digest[first - 1].group == nights->digest[nights->n - 1].group)
        first--;
    for (size_t i = 0; i < first; i++)
        mt_digest_clear(&nights->digest[i]);
    nights->n -= first;
    memmove(nights->digest, nights->digest + first, nights->n * sizeof *nights->digest);
}

/* Write "yesterday", "12 November", "12 November 2025"; of one day, "02:00". */
static const char *day_text(char out[64], uint64_t unix_ns, uint64_t now_ns)
{
    time_t when = (time_t)(unix_ns / 1000000000), now = (time_t)(now_ns / 1000000000);
    struct tm then, today;
    gmtime_r(&when, &then);
    gmtime_r(&now, &today);
    uint64_t days = now_ns / DAY_NS - unix_ns / DAY_NS;
    if (!unix_ns || unix_ns > now_ns)
        snprintf(out, 64, "the last run that passed");
    else if (days < 2)
        snprintf(out, 64, days ? "yesterday" : "%02d:%02d", then.tm_hour, then.tm_min);
    else
        strftime(out, 64, then.tm_year == today.tm_year ? "%-d %B" : "%-d %B %Y", &then);
    return out;
}

static const struct mt_digest *old_of(const struct mt_processes *processes, size_t i)
{
    return processes->process[processes->now[i]].old;
}

static void print_step(const struct mt_digest *run, const struct mt_digest_device *device,
                       const struct mt_digest *newest, const struct mt_digest *pinned,
                       bool is_one_of_several, uint64_t ignore)
{
    char size[MT_SIZE_TEXT], percent[MT_SIZE_TEXT], day[64], text[512] = "";
    const struct mt_change step = {mt_same_device(newest, run, device)->allocated,
                                   device->allocated, 0, false};
    if (mt_magnitude(mt_change_of(&step)) <= ignore)
        return;
    if (is_one_of_several || run->n_devices > 1)
        mt_text_append(text, sizeof text, "%.100s, device %d: ", mt_last_part(run->path),
                       device->device);
    mt_text_append(text, sizeof text, "peak %s", mt_signed_size_text(size, mt_change_of(&step)));
    if (step.old)
        mt_text_append(text, sizeof text, " (%s)", mt_percent_text(percent, &step));
    mt_text_append(text, sizeof text, " since %s",
                   day_text(day, newest->started_unix_ns, run->started_unix_ns));
    if (pinned && strcmp(pinned->path, newest->path)) {
        const struct mt_change all = {mt_same_device(pinned, run, device)->allocated,
                                      device->allocated, 0, false};
        const char *since = all.old && mt_change_of(&all)
                                ? mt_percent_text(percent, &all)
                                : mt_signed_size_text(size, mt_change_of(&all));
        mt_text_append(text, sizeof text, ", %s since %s", since,
                       day_text(day, pinned->started_unix_ns, run->started_unix_ns));
    }
    mt_say("%s", text);
}

void mt_print_steps(const struct mt_digests *runs, const struct mt_digests *newest,
                    const struct mt_digests *pinned, uint64_t ignore)
{
    struct mt_processes since, all;
    int rc = mt_processes_match(&since, runs->digest, runs->n, newest->digest, newest->n);
    if (mt_processes_match(&all, runs->digest, runs->n, pinned->digest, pinned->n))
        rc = -1;
    for (size_t i = 0; i < runs->n && !rc; i++) {
        const struct mt_digest *run = &runs->digest[i], *old = old_of(&since, i);
        for (size_t j = 0; old && j < run->n_devices; j++)
            print_step(run, &run->devices[j], old, pinned->n ? old_of(&all, i) : NULL, runs->n > 1,
                       ignore);
    }
    mt_processes_clear(&since);
    mt_processes_clear(&all);
}

void mt_print_commits(const struct mt_check *check)
{
    struct mt_place_in_tree shown[COMMITS_SHOWN];
    size_t n = 0;
    for (size_t i = 0; i < check->n && n < COMMITS_SHOWN; i++) {
        char commit[512];
        struct mt_place_in_tree place = mt_finding_place(&check->finding[i], check->budget);
        bool is_known =
            !check->finding[i].is_broken || !check->finding[i].blame.site || !*place.file;
        for (size_t j = 0; j < n; j++)
            is_known |= !strcmp(shown[j].file, place.file) && shown[j].line == place.line;
        if (is_known)
            continue;
        shown[n++] = place;
        if (*mt_line_commit(commit, place.file, place.line))
            mt_say("%s:%u: last changed by %s", place.file, place.line, commit);
    }
}
