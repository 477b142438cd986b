/* SPDX-License-Identifier: Apache-2.0 */
/* How a call site changed. */
#include "diff.h"

#define ABOUT 0.05 /* numbers this close count as equal */

const char *const mt_diff_kind_names[MT_DIFF_KINDS] = {
    [MT_DIFF_SAME] = "same",
    [MT_DIFF_NEW] = "new",
    [MT_DIFF_GONE] = "gone",
    [MT_DIFF_GROWN] = "grown",
    [MT_DIFF_SHRUNK] = "shrunk",
    [MT_DIFF_LONGER] = "kept longer",
    [MT_DIFF_EARLIER] = "freed earlier",
    [MT_DIFF_MOVED] = "moved with the peak",
};

static bool about(double a, double b)
{
    double most = a > b ? a : b, least = a > b ? b : a;
    return most - least <= ABOUT * most;
}

static double part(uint64_t a, uint64_t b)
{
    return b ? (double)a / (double)b : 0;
}

/* Divide by the iterations, if there are any. */
static double each(uint64_t number, const struct mt_digest_device *device)
{
    return part(number, device->iterations ? device->iterations : 1);
}

/* Return whether its blocks live through more changes of phase. */
static bool lives_longer(const struct mt_diff_site *site)
{
    double old = part(site->phases.old, site->allocations.old);
    double now = part(site->phases.now, site->allocations.now);
    return now > old && !about(now, old);
}

static bool lives_shorter(const struct mt_diff_site *site)
{
    double old = part(site->phases.old, site->allocations.old);
    double now = part(site->phases.now, site->allocations.now);
    return now < old && !about(now, old);
}

/* Return whether a line's blocks at the one side's moment may be those that the other side had at
 * another one: none is larger than all that were live there at once, and if there were fewer bytes,
 * the lifetimes are others, or in no phase. */
static bool may_be_the_same(const struct mt_diff_site *site, double block, uint64_t there,
                            bool has_other_life)
{
    bool is_large = block > (1 + ABOUT) * (double)there;
    return !is_large && (has_other_life || about((double)site->most.old, (double)site->most.now) ||
                         !site->phases.old || !site->phases.now);
}

/* Return whether the line requests as much as before, as far as known: as often per iteration, and
 * blocks of the same size. A side without blocks at its peak may have had them at another moment.
 */
static bool requests_the_same(const struct mt_diff_device *device, const struct mt_diff_site *site)
{
    int as_often =
        about(each(site->allocations.old, device->old), each(site->allocations.now, device->now));
    double old = part(site->bytes.old, site->blocks.old);
    double now = part(site->bytes.now, site->blocks.now);
    if (!site->blocks.old)
        return (as_often && may_be_the_same(site, now, site->most.old, lives_longer(site))) ||
               site->most.old >= site->bytes.now;
    if (!site->blocks.now)
        return (as_often && may_be_the_same(site, old, site->most.now, lives_shorter(site))) ||
               site->most.now >= site->bytes.old;
    return as_often && site->blocks.old != site->blocks.now && about(old, now);
}

static enum mt_diff_kind kind_of(const struct mt_diff_device *device,
                                 const struct mt_diff_site *site)
{
    int64_t change = mt_change_of(&site->bytes);
    bool elsewhere = device->peak_moved && device->in_phase < 0;
    if (!change)
        return MT_DIFF_SAME;
    if (!site->allocations.old)
        return MT_DIFF_NEW;
    if (!site->allocations.now)
        return MT_DIFF_GONE;
    if (!requests_the_same(device, site))
        return change > 0 ? MT_DIFF_GROWN : MT_DIFF_SHRUNK;
    if (change > 0)
        return elsewhere && !lives_longer(site) ? MT_DIFF_MOVED : MT_DIFF_LONGER;
    return elsewhere && !lives_shorter(site) ? MT_DIFF_MOVED : MT_DIFF_EARLIER;
}

/* Return whether a site keeps its blocks longer since another line saves more of them. */
static bool is_saved_now(const struct mt_diff_site *site)
{
    double old = part(site->saved.old, site->allocations.old);
    double now = part(site->saved.now, site->allocations.now);
    return site->kind == MT_DIFF_LONGER && now > 2 * old;
}

void mt_diff_name_kinds(struct mt_diff_device *device)
{
    for (size_t i = 0; i < device->n_sites; i++) {
        struct mt_diff_site *site = &device->site[i];
        site->kind = kind_of(device, site);
        if (!is_saved_now(site))
            site->saver = NULL;
    }
}
