/* SPDX-License-Identifier: Apache-2.0 */
/* Find the line to blame for a broken limit: as memtap diff does, or without a baseline the line
 * with the most bytes. */
#include "analyzer/support/search.h"
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The sites describe the peak and no other moment. */
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

/* Sites of one line stay in the device's order. */
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
    size_t low = MT_LEADING(i, n, by_line(site[i], &wanted) < 0);
    return low < n && !by_line(site[low], &wanted) ? site[low] : NULL;
}

/* The sites of a difference are sorted by blame: take the first that has grown. */
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

/* Look only at sites that the limit covers. Without memory, find none. */
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
    /* If no line has grown, the limit may be too low: the largest line shows where to save. */
    return blame.site ? blame : largest(limit, pattern, device);
}
