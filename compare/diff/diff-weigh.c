/* SPDX-License-Identifier: Apache-2.0 */
/* Compute a call site's contribution to the peak's change. Its own change is not enough, because
 * other sites may offset much of it. */
#include "analyzer/support/search.h"
#include "diff.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* PyTorch's allocator does not split a cached block of the large pool if it exceeds the request by
 * less than this. */
#define SLACK (1u << 20)

/* Optimizer state may grow a little more than in proportion to its parameters. */
#define A_LITTLE 1.05

/* Groups of sites whose changes may offset each other: one per category, and one for sites whose
 * change may be slack of cached blocks. */
#define GROUPS (MT_CATEGORY_ROOM + 1u)

struct weigher {
    struct mt_diff_device *device;
    int direction; /* sign sign of the compared moments' change: 1 or -1 */
    double factor[MT_CATEGORY_ROOM];
};

static int64_t change_of(const struct mt_diff_site *site)
{
    return mt_change_of(&site->bytes);
}

/* --- offsets ------------------------------------------------------------------------------- */

MT_ORDER_OF_POINTERS(by_magnitude, struct mt_diff_site,
                     MT_COMPARE(mt_magnitude(change_of(b)), mt_magnitude(change_of(a)))
                     ?: MT_RISING(category) ?: MT_RISING(line))

/* Return the next of n sites from i on that grew, or shrank, and is not offset; n: none. */
static size_t next_of(struct mt_diff_site *const *site, size_t n, size_t i, bool is_more,
                      bool is_noise)
{
    while (i < n && (!site[i]->part || !change_of(site[i]) || (change_of(site[i]) > 0) != is_more ||
                     (site[i]->bytes.is_noise != 0) != is_noise))
        i++;
    return i;
}

/* Pair the first site that grew with the first that shrank, and so on. */
static void pair_in_order(struct mt_diff_site **site, size_t n, bool is_noise)
{
    size_t more = next_of(site, n, 0, 1, is_noise), less = next_of(site, n, 0, 0, is_noise);
    while (more < n && less < n) {
        site[more]->part = site[less]->part = 0;
        more = next_of(site, n, more, 1, is_noise);
        less = next_of(site, n, less, 0, is_noise);
    }
}

/* Pair sites that grew with sites that shrank by as much, first within a category, by which they
 * are sorted. */
static void pair(struct mt_diff_site **site, size_t n)
{
    for (int is_noise = 0; is_noise < 2; is_noise++) {
        for (size_t from = 0, end; from < n; from = end) {
            for (end = from; end < n && site[end]->category == site[from]->category;)
                end++;
            pair_in_order(site + from, end - from, is_noise);
        }
        pair_in_order(site, n, is_noise);
    }
}

/* Offset equal changes: if one site grew by exactly the bytes by which another shrank, they are the
 * same blocks under another name, or exchanged blocks. */
static int take_back_equal(struct mt_diff_device *device)
{
    struct mt_diff_site **site = calloc(device->n_sites + 1, sizeof *site);
    if (!site)
        return -ENOMEM;
    for (size_t i = 0; i < device->n_sites; i++) {
        site[i] = &device->site[i];
        site[i]->part = 1;
    }
    qsort(site, device->n_sites, sizeof *site, by_magnitude);
    for (size_t from = 0, end; from < device->n_sites; from = end) {
        uint64_t size = mt_magnitude(change_of(site[from]));
        for (end = from; end < device->n_sites && mt_magnitude(change_of(site[end])) == size;)
            end++;
        pair(site + from, end - from);
    }
    free(site);
    return 0;
}

/* Return whether slack may explain a change: as many blocks as before, on average too large for the
 * small pool, and a change too small for another request. */
static bool may_be_slack(const struct mt_diff_site *site)
{
    uint64_t blocks = site->blocks.now;
    return blocks && site->blocks.old == blocks && site->bytes.old > blocks * SLACK &&
           site->bytes.now > blocks * SLACK && mt_magnitude(change_of(site)) < blocks * SLACK;
}

static unsigned group_of(const struct mt_diff_site *site)
{
    return may_be_slack(site) ? MT_CATEGORY_ROOM : site->category;
}

/* Offset changes within each group: changes in one direction count only for what those in the other
 * direction leave of them, in proportion. */
static void take_back_within_groups(struct mt_diff_device *device)
{
    double more[GROUPS] = {0}, less[GROUPS] = {0};
    for (size_t i = 0; i < device->n_sites; i++) {
        const struct mt_diff_site *site = &device->site[i];
        double change = (double)change_of(site) * site->part;
        *(change > 0 ? &more[group_of(site)] : &less[group_of(site)]) += fabs(change);
    }
    for (size_t i = 0; i < device->n_sites; i++) {
        struct mt_diff_site *site = &device->site[i];
        unsigned group = group_of(site);
        double own = change_of(site) > 0 ? more[group] : less[group];
        double other = change_of(site) > 0 ? less[group] : more[group];
        if (site->part)
            site->part = other < own ? 1 - other / own : 0;
    }
}

/* Count only what was requested of a change: PyTorch rounds requests up, and reuses cached blocks
 * that are a little larger. */
static void leave_out_unused(struct mt_diff_device *device)
{
    for (size_t i = 0; i < device->n_sites; i++) {
        struct mt_diff_site *site = &device->site[i];
        double change = (double)change_of(site), unused = (double)mt_change_of(&site->unused);
        device->unused += mt_change_of(&site->unused);
        if (change && unused / change > 0)
            site->part *= unused / change < 1 ? 1 - unused / change : 0;
    }
}

/* --- consequences --------------------------------------------------------------------------- */

/* Return the part of a change with the sign of `most` and no larger magnitude. */
static double follows(double change, double most)
{
    if ((change < 0) != (most < 0))
        return 0;
    return (change < 0) == (change < most) ? most : change;
}

/* Weigh the categories: more parameters imply more gradients, and optimizer state in the old
 * proportion. */
static void weigh_categories(struct weigher *weigher)
{
    const struct mt_change *category = weigher->device->category;
    double parameters = (double)mt_change_of(&category[MT_CATEGORY_PARAMETERS]);
    double gradients = (double)mt_change_of(&category[MT_CATEGORY_GRADIENTS]);
    double state = (double)mt_change_of(&category[MT_CATEGORY_OPTIMIZER_STATE]);
    double had = (double)category[MT_CATEGORY_PARAMETERS].old;
    double state_each =
        had ? A_LITTLE * (double)category[MT_CATEGORY_OPTIMIZER_STATE].old / had : 0;
    double *factor = weigher->factor;
    for (unsigned i = 0; i < mt_n_categories; i++)
        factor[i] = 1;
    if (!parameters)
        return;
    double of_gradients = follows(gradients, parameters);
    double of_state = follows(state, parameters * state_each);
    weigher->device->following = (int64_t)(of_gradients + of_state);
    factor[MT_CATEGORY_PARAMETERS] += (of_gradients + of_state) / parameters;
    if (gradients)
        factor[MT_CATEGORY_GRADIENTS] -= of_gradients / gradients;
    if (state)
        factor[MT_CATEGORY_OPTIMIZER_STATE] -= of_state / state;
}

/* --- the order ------------------------------------------------------------------------------ */

/* Sort: noise last, then changes in the peak's direction first, then the largest contribution. */
MT_ORDER(by_blame, struct mt_diff_site,
         MT_RISING(bytes.is_noise) ?: !!signbit(a->blame) - !!signbit(b->blame)
         ?: MT_COMPARE(fabs(b->blame), fabs(a->blame))
         ?: MT_COMPARE(mt_magnitude(change_of(b)), mt_magnitude(change_of(a)))
         ?: MT_RISING(category) ?: MT_RISING(line) ?: MT_BY_TEXT(operator_name)
         ?: MT_BY_TEXT(module))

/* Return the contribution. An offset change against the peak gets -0, whose sign still sorts it by
 * its direction. */
static double blame_of(const struct weigher *weigher, const struct mt_diff_site *site)
{
    double change = (double)change_of(site);
    return change ? weigher->direction * change * weigher->factor[site->category] * site->part : 0;
}

int mt_diff_weigh(struct mt_diff_device *device)
{
    struct weigher weigher = {.device = device,
                              .direction = mt_change_of(&device->compared) < 0 ? -1 : 1};
    int rc = take_back_equal(device);
    if (rc)
        return rc;
    take_back_within_groups(device);
    leave_out_unused(device);
    weigh_categories(&weigher);
    for (size_t i = 0; i < device->n_sites; i++)
        device->site[i].blame = blame_of(&weigher, &device->site[i]);
    if (device->n_sites)
        qsort(device->site, device->n_sites, sizeof *device->site, by_blame);
    return 0;
}
