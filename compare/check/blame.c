/* SPDX-License-Identifier: Apache-2.0 */
/* Find the line responsible for a broken limit, as memtap diff does; without a baseline, the line
 * with the most bytes. */
#include "analyzer/support/search.h"
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Return whether the sites describe the peak and no other moment. */
static bool is_of_peak(const struct mt_limit *limit, const struct mt_digest_device *device)
{
    return limit->subject != MT_OF_END && limit->subject != MT_OF_FRAGMENTATION &&
           limit->subject != MT_OF_GROWTH &&
           (limit->subject != MT_OF_PHASE || limit->index == device->phase);
}

static int by_line(const struct mt_digest_site *a, const struct mt_digest_site *b)
{
    return MT_RISING(category) ?: MT_RISING(line) ?: MT_BY_TEXT(function)
           ?: MT_BY_TEXT(file) ?: MT_BY_TEXT(operator_name);
}

/* Sites of one line stay in the device's order. */
MT_ORDER_OF_POINTERS(in_order, struct mt_digest_site, by_line(a, b) ?: MT_COMPARE(a, b))

/* Sum the sites of the first one's line, with the stack of the largest. */
static struct mt_blame sum_line(const struct mt_digest_site *const *site, size_t n, size_t *n_sites)
{
    struct mt_blame blame = {.site = site[0], .module = site[0]->module};
    for (*n_sites = 0; *n_sites < n && !by_line(site[*n_sites], site[0]); ++*n_sites) {
        const struct mt_digest_site *one = site[*n_sites];
        blame.bytes += one->bytes;
        if (one->bytes > blame.site->bytes)
            blame.site = one;
        if (one->certainty > blame.certainty)
            blame.certainty = one->certainty;
        if (strcmp(one->module, blame.module))
            blame.module = "";
    }
    return blame;
}

/* Return the first site that has grown: the sites of a difference are sorted by blame. */
static struct mt_blame grown(const struct mt_diff_device *diff,
                             const struct mt_digest_site *const *site, size_t n)
{
    for (size_t i = 0; i < diff->n_sites; i++) {
        const struct mt_diff_site *of = &diff->site[i];
        const struct mt_digest_site wanted = {.category = of->category,
                                              .line = of->line->line,
                                              .function = (char *)of->line->function,
                                              .file = (char *)of->line->file,
                                              .operator_name = (char *)of->operator_name};
        size_t low = MT_LEADING(at, n, by_line(site[at], &wanted) < 0), n_sites;
        if (mt_change_of(&of->bytes) <= 0 || low == n || by_line(site[low], &wanted))
            continue;
        struct mt_blame blame = sum_line(site + low, n - low, &n_sites);
        blame.bytes = (uint64_t)mt_change_of(&of->bytes);
        blame.module = of->module;
        blame.saver = of->saver;
        blame.scale = of->is_scaled ? diff->scale : 0;
        blame.n_scaled = diff->n_scaled;
        blame.is_growth = 1;
        return blame;
    }
    return (struct mt_blame){0};
}

/* Return the largest site. As in memtap report, a line counts for all modules together. */
static struct mt_blame largest(const struct mt_digest_site *const *site, size_t n)
{
    struct mt_blame most = {0};
    for (size_t i = 0, n_sites; i < n; i += n_sites) {
        struct mt_blame blame = sum_line(site + i, n - i, &n_sites);
        if (blame.bytes > most.bytes)
            most = blame;
    }
    return most;
}

/* Consider only sites that the limit covers. If no line has grown, the limit may be too low; the
 * largest line then shows where to save. Without memory, find none. */
static struct mt_blame find(const struct mt_limit *limit, const char *pattern,
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
        blame = diff ? grown(diff, site, n) : blame;
        blame = blame.site ? blame : largest(site, n);
    }
    free(site);
    return blame;
}

struct mt_blame mt_blame_find(const struct mt_limit *limit, const char *pattern,
                              const struct mt_digest_device *device,
                              const struct mt_diff_device *diff)
{
    if (limit->subject == MT_OF_GROWTH && device->grows.function)
        return (struct mt_blame){.site = &device->grows,
                                 .bytes = device->grows.bytes,
                                 .certainty = device->grows.certainty,
                                 .module = device->grows.module};
    return is_of_peak(limit, device) ? find(limit, pattern, device, diff) : (struct mt_blame){0};
}
