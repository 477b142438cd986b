/* SPDX-License-Identifier: Apache-2.0 */
/* The line that most of what is over comes from: as memtap diff finds it, or without a baseline the
 * one that has most. */
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The sites are those of the peak: of another moment they tell nothing. */
static bool is_of_peak(const struct mt_limit *limit, const struct mt_digest_device *device)
{
    return limit->subject != MT_OF_END && limit->subject != MT_OF_FRAGMENTATION &&
           limit->subject != MT_OF_GROWTH &&
           (limit->subject != MT_OF_PHASE || limit->index == device->phase);
}

static int by_line(const struct mt_digest_site *a, const struct mt_digest_site *b)
{
    if (a->category != b->category)
        return a->category < b->category ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    int order = strcmp(a->function, b->function);
    if (!order)
        order = strcmp(a->file, b->file);
    return order ? order : strcmp(a->operator_name, b->operator_name);
}

/* Of those of one line, the first of the device is the first. */
static int in_order(const void *left, const void *right)
{
    const struct mt_digest_site *a = *(const struct mt_digest_site *const *)left;
    const struct mt_digest_site *b = *(const struct mt_digest_site *const *)right;
    int order = by_line(a, b);
    return order ? order : (a > b) - (a < b);
}

static const struct mt_digest_site *first_of_line(const struct mt_digest_site *const *site,
                                                  size_t n, const struct mt_diff_site *of)
{
    const struct mt_digest_site wanted = {.category = of->category,
                                          .line = of->line->line,
                                          .function = (char *)of->line->function,
                                          .file = (char *)of->line->file,
                                          .operator_name = (char *)of->operator_name};
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_line(site[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && !by_line(site[low], &wanted) ? site[low] : NULL;
}

/* Sites of a difference stand in the order of blame. */
static struct mt_blame grown(const struct mt_diff_device *diff,
                             const struct mt_digest_site *const *site, size_t n)
{
    for (size_t i = 0; i < diff->n_sites; i++) {
        const struct mt_diff_site *of = &diff->site[i];
        const struct mt_digest_site *found =
            mt_change_of(&of->bytes) > 0 ? first_of_line(site, n, of) : NULL;
        if (found)
            return (struct mt_blame){found, (uint64_t)mt_change_of(&of->bytes), 1};
    }
    return (struct mt_blame){0};
}

/* Among the sites that the limit has. Too little memory finds none. */
static struct mt_blame grown_of(const struct mt_limit *limit, const char *pattern,
                                const struct mt_digest_device *device,
                                const struct mt_diff_device *diff)
{
    const struct mt_digest_site **site = calloc(device->n_sites + 1, sizeof *site);
    struct mt_blame blame = {0};
    size_t n = 0;
    for (size_t i = 0; site && i < device->n_sites; i++)
        if (mt_limit_has_site(limit, pattern, &device->site[i]))
            site[n++] = &device->site[i];
    if (n) {
        qsort(site, n, sizeof *site, in_order);
        blame = grown(diff, site, n);
    }
    free(site);
    return blame;
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
        blame = grown_of(limit, pattern, device, diff);
    /* Where no line has grown, a limit may be too low: what has most tells where to save. */
    return blame.site ? blame : largest(limit, pattern, device);
}
