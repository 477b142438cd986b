/* SPDX-License-Identifier: Apache-2.0 */
/* Lines whose memory changed by a common factor, because the batch or sequence size changed. */
#include "analyzer/support/search.h"
#include "diff.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define LEAST_LINES 3u
#define NEAR 0.02   /* factors this close count as equal, since blocks are rounded */
#define LEAST 0.01  /* smaller changes are ignored */
#define MOST_OF 0.9 /* of the bytes that may scale */

struct factor {
    double factor;
    uint64_t bytes;
};

MT_ORDER(by_factor, struct factor, MT_RISING(factor) ?: MT_RISING(bytes))

/* Return whether a line's memory may grow with the batch. */
static bool may_scale(const struct mt_diff_site *site)
{
    return site->category != MT_CATEGORY_PARAMETERS && site->category != MT_CATEGORY_GRADIENTS &&
           site->category != MT_CATEGORY_OPTIMIZER_STATE && site->category != MT_CATEGORY_BUFFERS &&
           !site->bytes.is_noise;
}

/* Return by which factor the line's requests changed; 0: it has none on one side. */
static double factor_of(const struct mt_diff_site *site)
{
    double old = (double)site->bytes.old - (double)site->unused.old;
    double now = (double)site->bytes.now - (double)site->unused.now;
    return old > 0 && now > 0 ? now / old : 0;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= NEAR * b;
}

/* Return whether a line's bytes changed by the factor or, for a matrix of sequence length squared,
 * by its square; or in between, where it has as many blocks as before, some of each kind. */
static bool is_scaled(const struct mt_diff_site *site, double factor)
{
    double own = factor_of(site), square = factor * factor;
    bool is_between = (own > factor) == (own < square) && !mt_change_of(&site->blocks);
    return own > 0 && may_scale(site) && mt_change_of(&site->bytes) &&
           (is_near(own, factor) || is_near(own, square) || is_between);
}

/* Return the factor of the median byte. */
static double middle(struct factor *factor, size_t n)
{
    uint64_t all = 0, sum = 0;
    qsort(factor, n, sizeof *factor, by_factor);
    for (size_t i = 0; i < n; i++)
        all += factor[i].bytes;
    for (size_t i = 0; i < n; i++)
        if ((sum += factor[i].bytes) * 2 >= all)
            return factor[i].factor;
    return 1;
}

/* Mark the lines that changed by a factor, if nearly all that may scale did. */
static bool mark(struct mt_diff_device *device, double factor)
{
    uint64_t scaled = 0, all = 0;
    size_t lines = 0;
    for (size_t i = 0; i < device->n_sites; i++) {
        const struct mt_diff_site *site = &device->site[i];
        if (!may_scale(site))
            continue;
        all += site->bytes.old > site->bytes.now ? site->bytes.old : site->bytes.now;
        if (!is_scaled(site, factor))
            continue;
        scaled += site->bytes.old > site->bytes.now ? site->bytes.old : site->bytes.now;
        lines++;
    }
    if (lines < LEAST_LINES || fabs(factor - 1) < LEAST || (double)scaled < MOST_OF * (double)all)
        return false;
    for (size_t i = 0; i < device->n_sites; i++) {
        struct mt_diff_site *site = &device->site[i];
        if (!(site->is_scaled = is_scaled(site, factor)))
            continue;
        device->n_scaled++;
        device->scaled.old += site->bytes.old;
        device->scaled.now += site->bytes.now;
    }
    return true;
}

/* Return the factor; 0: none. The median byte may belong to a matrix that changed by its square. */
static double mark_any(struct mt_diff_device *device, double factor)
{
    return mark(device, factor) ? factor : mark(device, sqrt(factor)) ? sqrt(factor) : 0;
}

int mt_diff_find_scale(struct mt_diff_device *device)
{
    struct factor *factor = calloc(device->n_sites + 1, sizeof *factor);
    size_t n = 0;
    if (!factor)
        return -ENOMEM;
    for (size_t i = 0; i < device->n_sites; i++) {
        const struct mt_diff_site *site = &device->site[i];
        double own = factor_of(site);
        if (may_scale(site) && own > 0)
            factor[n++] = (struct factor){own, site->bytes.old};
    }
    if (n && !mt_change_of(&device->category[MT_CATEGORY_PARAMETERS]))
        device->scale = mark_any(device, middle(factor, n));
    free(factor);
    return 0;
}
