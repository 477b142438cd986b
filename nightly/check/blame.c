/* SPDX-License-Identifier: Apache-2.0 */
/* The line that most of what is over comes from: as memtap diff finds it, or without a baseline the
 * one that has most. */
#include "check.h"

#include <string.h>

/* The sites are those of the peak: of another moment they tell nothing. */
static int is_of_peak(const struct mt_limit *limit, const struct mt_digest_device *device)
{
    return limit->subject != MT_OF_END && limit->subject != MT_OF_FRAGMENTATION &&
           limit->subject != MT_OF_GROWTH &&
           (limit->subject != MT_OF_PHASE || limit->index == device->phase);
}

static int same_line(const struct mt_digest_site *site, const struct mt_diff_site *of)
{
    return site->category == of->category && site->line == of->line->line &&
           !strcmp(site->function, of->line->function) && !strcmp(site->file, of->line->file) &&
           !strcmp(site->operator_name, of->operator_name);
}

/* Sites of a difference stand in the order of blame. */
static struct mt_blame grown(const struct mt_limit *limit, const char *pattern,
                             const struct mt_digest_device *device,
                             const struct mt_diff_device *diff)
{
    for (size_t i = 0; i < diff->n_sites; i++) {
        const struct mt_diff_site *of = &diff->site[i];
        if (mt_change_of(&of->bytes) <= 0)
            continue;
        for (size_t j = 0; j < device->n_sites; j++)
            if (same_line(&device->site[j], of) &&
                mt_limit_has_site(limit, pattern, &device->site[j]))
                return (struct mt_blame){&device->site[j], (uint64_t)mt_change_of(&of->bytes), 1};
    }
    return (struct mt_blame){0};
}

static struct mt_blame largest(const struct mt_limit *limit, const char *pattern,
                               const struct mt_digest_device *device)
{
    struct mt_blame blame = {0};
    for (size_t i = 0; i < device->n_sites; i++) {
        const struct mt_digest_site *site = &device->site[i];
        if (site->bytes > blame.bytes && mt_limit_has_site(limit, pattern, site))
            blame = (struct mt_blame){site, site->bytes, 0};
    }
    return blame;
}

struct mt_blame mt_blame_find(const struct mt_limit *limit, const char *pattern,
                              const struct mt_digest_device *device,
                              const struct mt_diff_device *diff)
{
    struct mt_blame blame = {0};
    if (limit->subject == MT_OF_GROWTH && device->grows.function)
        return (struct mt_blame){&device->grows, device->grows.bytes, 0};
    if (!is_of_peak(limit, device))
        return blame;
    if (diff)
        blame = grown(limit, pattern, device, diff);
    /* Where no line has grown, a limit may be too low: what has most tells where to save. */
    return blame.site ? blame : largest(limit, pattern, device);
}
