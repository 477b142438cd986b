/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line that most of what is over comes from. Between runs, sites are the same by category,
 * file, function and operator: lines move. A device's sites are in the order of these, so that
 * those of a group stand together.
 */
#include "check.h"

#include <string.h>

static int same_group(const struct mt_digest_site *a, const struct mt_digest_site *b)
{
    return a->category == b->category && !strcmp(a->file, b->file) &&
           !strcmp(a->function, b->function) && !strcmp(a->operator_name, b->operator_name);
}

/* Of the group's sites, or those of its line `line` (0: all). */
static uint64_t group_bytes(const struct mt_digest_device *device,
                            const struct mt_digest_site *group, uint32_t line)
{
    uint64_t bytes = 0;
    for (size_t i = 0; device && i < device->n_sites; i++)
        if (same_group(&device->site[i], group) && (!line || device->site[i].line == line))
            bytes += device->site[i].bytes;
    return bytes;
}

static uint64_t more(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

/* The line of a group that has grown most. */
static const struct mt_digest_site *worst_line(const struct mt_digest_device *now, size_t begin,
                                               size_t end, const struct mt_digest_device *before)
{
    const struct mt_digest_site *worst = &now->site[begin];
    uint64_t most = 0;
    for (size_t i = begin; i < end; i++) {
        const struct mt_digest_site *site = &now->site[i];
        uint64_t grown =
            more(group_bytes(now, site, site->line), group_bytes(before, site, site->line));
        if (grown > most) {
            most = grown;
            worst = site;
        }
    }
    return worst;
}

static struct mt_blame largest(const struct mt_limit *limit, const char *pattern,
                               const struct mt_digest_device *now,
                               const struct mt_digest_device *before)
{
    struct mt_blame blame = {.is_growth = before != NULL};
    for (size_t i = 0, end; i < now->n_sites; i = end) {
        const struct mt_digest_site *group = &now->site[i];
        int belongs = 0;
        for (end = i; end < now->n_sites && same_group(group, &now->site[end]); end++)
            belongs |= mt_limit_has_site(limit, pattern, &now->site[end]);
        uint64_t grown =
            belongs ? more(group_bytes(now, group, 0), group_bytes(before, group, 0)) : 0;
        if (grown > blame.bytes) {
            blame.bytes = grown;
            blame.site = worst_line(now, i, end, before);
        }
    }
    return blame;
}

/* The sites are those of the peak: of another moment they tell nothing. */
static int is_of_peak(const struct mt_limit *limit, const struct mt_digest_device *now)
{
    return limit->subject != MT_OF_END &&
           (limit->subject != MT_OF_PHASE || limit->index == now->phase);
}

struct mt_blame mt_blame_find(const struct mt_limit *limit, const char *pattern,
                              const struct mt_digest_device *now,
                              const struct mt_digest_device *before)
{
    if (limit->subject == MT_OF_GROWTH)
        return (struct mt_blame){.site = now->grows.function ? &now->grows : NULL,
                                 .bytes = now->grows.bytes};
    if (!is_of_peak(limit, now))
        return (struct mt_blame){0};
    struct mt_blame blame = largest(limit, pattern, now, before);
    /* Where no line has grown, a limit may be too low: what has most tells where to save. */
    return blame.site ? blame : largest(limit, pattern, now, NULL);
}
