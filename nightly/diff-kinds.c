/* SPDX-License-Identifier: Apache-2.0 */
/* What has happened at a call site, and how much of the peak's change it is to blame for. */
#include "diff.h"

#include <stdlib.h>
#include <string.h>

#define ABOUT 0.05 /* numbers that are no further apart are taken for the same */

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

static int about(double a, double b)
{
    double most = a > b ? a : b, least = a > b ? b : a;
    return most - least <= ABOUT * most;
}

static double part(uint64_t a, uint64_t b)
{
    return b ? (double)a / (double)b : 0;
}

/* In an iteration, where there are any. */
static double each(uint64_t number, const struct mt_digest_device *device)
{
    return part(number, device->iterations ? device->iterations : 1);
}

/* The line asks for as much as before, as far as can be told: as often in an iteration, and blocks
 * of the same size; or, where one side has none at its peak, it had as much at another moment. */
static int asks_for_the_same(const struct mt_diff_device *device, const struct mt_diff_site *site)
{
    int as_often =
        about(each(site->allocations.old, device->old), each(site->allocations.now, device->now));
    if (!site->blocks.old)
        return as_often || site->most.old >= site->bytes.now;
    if (!site->blocks.now)
        return as_often || site->most.now >= site->bytes.old;
    return as_often && site->blocks.old != site->blocks.now &&
           about(part(site->bytes.old, site->blocks.old), part(site->bytes.now, site->blocks.now));
}

/* Whether its blocks live longer, in changes of phase. */
static int lives_longer(const struct mt_diff_site *site)
{
    double old = part(site->phases.old, site->allocations.old);
    double now = part(site->phases.now, site->allocations.now);
    return now > old && !about(now, old);
}

static int lives_shorter(const struct mt_diff_site *site)
{
    double old = part(site->phases.old, site->allocations.old);
    double now = part(site->phases.now, site->allocations.now);
    return now < old && !about(now, old);
}

static enum mt_diff_kind kind_of(const struct mt_diff_device *device,
                                 const struct mt_diff_site *site)
{
    int64_t change = mt_change_of(&site->bytes);
    if (!change)
        return MT_DIFF_SAME;
    if (!site->allocations.old)
        return MT_DIFF_NEW;
    if (!site->allocations.now)
        return MT_DIFF_GONE;
    if (!asks_for_the_same(device, site))
        return change > 0 ? MT_DIFF_GROWN : MT_DIFF_SHRUNK;
    if (change > 0)
        return device->peak_moved && !lives_longer(site) ? MT_DIFF_MOVED : MT_DIFF_LONGER;
    return device->peak_moved && !lives_shorter(site) ? MT_DIFF_MOVED : MT_DIFF_EARLIER;
}

/* The part of a change that goes the same way as another and is not larger. */
static double follows(double change, double most)
{
    if ((change < 0) != (most < 0))
        return 0;
    return (change < 0) == (change < most) ? most : change;
}

/* Parameters bring gradients with them, and as much optimizer state as they had before. */
static void weigh(struct mt_diff_device *device, double factor[MT_CATEGORY_COUNT])
{
    const struct mt_change *category = device->category;
    double parameters = (double)mt_change_of(&category[MT_CATEGORY_PARAMETERS]);
    double gradients = (double)mt_change_of(&category[MT_CATEGORY_GRADIENTS]);
    double state = (double)mt_change_of(&category[MT_CATEGORY_OPTIMIZER_STATE]);
    double state_each =
        part(category[MT_CATEGORY_OPTIMIZER_STATE].old, category[MT_CATEGORY_PARAMETERS].old) *
        (1 + ABOUT);
    for (unsigned i = 0; i < MT_CATEGORY_COUNT; i++)
        factor[i] = 1;
    if (!parameters)
        return;
    double of_gradients = follows(gradients, parameters);
    double of_state = follows(state, parameters * state_each);
    device->following = (int64_t)(of_gradients + of_state);
    factor[MT_CATEGORY_PARAMETERS] += (of_gradients + of_state) / parameters;
    if (gradients)
        factor[MT_CATEGORY_GRADIENTS] -= of_gradients / gradients;
    if (state)
        factor[MT_CATEGORY_OPTIMIZER_STATE] -= of_state / state;
}

static double size_of(double number)
{
    return number < 0 ? -number : number;
}

/* What is not noise first, then what goes the way of the peak (blame over 0), then the largest. */
static int by_blame(const void *left, const void *right)
{
    const struct mt_diff_site *a = left, *b = right;
    if (a->bytes.is_noise != b->bytes.is_noise)
        return a->bytes.is_noise - b->bytes.is_noise;
    if ((a->blame < 0) != (b->blame < 0))
        return (a->blame < 0) - (b->blame < 0);
    if (size_of(a->blame) != size_of(b->blame))
        return size_of(a->blame) < size_of(b->blame) ? 1 : -1;
    uint64_t x = mt_magnitude(mt_change_of(&a->bytes)), y = mt_magnitude(mt_change_of(&b->bytes));
    if (x != y)
        return x < y ? 1 : -1;
    if (a->category != b->category)
        return a->category < b->category ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    int order = strcmp(a->operator_name, b->operator_name);
    return order ? order : strcmp(a->module, b->module);
}

void mt_diff_judge_sites(struct mt_diff_device *device)
{
    double factor[MT_CATEGORY_COUNT];
    int direction = mt_change_of(&device->allocated) < 0 ? -1 : 1;
    weigh(device, factor);
    for (size_t i = 0; i < device->n_sites; i++) {
        struct mt_diff_site *site = &device->site[i];
        site->kind = kind_of(device, site);
        site->blame = direction * (double)mt_change_of(&site->bytes) * factor[site->category];
    }
    if (device->n_sites)
        qsort(device->site, device->n_sites, sizeof *device->site, by_blame);
}
