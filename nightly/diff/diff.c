/* SPDX-License-Identifier: Apache-2.0 */
#include "diff.h"
#include "analyzer/support/grow.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct mt_digest_device nothing = {.device = MT_NO_DEVICE};

struct side {
    const struct mt_digest *digest;
    size_t n;
};

/* Return a digest's device of that index, or its only device. */
static const struct mt_digest_device *device_of(const struct mt_digest *digest, int index)
{
    for (size_t i = 0; i < digest->n_devices; i++)
        if (digest->devices[i].device == index || digest->n_devices == 1)
            return &digest->devices[i];
    return &nothing;
}

#define ANY_RANK (-2)

static size_t add_runs(struct mt_diff_device *to, struct side side, long rank, int index)
{
    size_t n = 0;
    for (size_t i = 0; i < side.n; i++)
        if (rank == ANY_RANK || side.digest[i].rank == rank)
            to->runs[to->n_new + to->n_old + n++] = device_of(&side.digest[i], index);
    return n;
}

/* Return the run whose peak is nearest to the median. */
static const struct mt_digest_device *middle(const struct mt_digest_device *const *runs, size_t n,
                                             uint64_t peak)
{
    const struct mt_digest_device *best = &nothing;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        uint64_t apart =
            runs[i]->allocated > peak ? runs[i]->allocated - peak : peak - runs[i]->allocated;
        if (apart < least) {
            least = apart;
            best = runs[i];
        }
    }
    return best;
}

static uint64_t apart(const struct mt_change *change)
{
    return change->is_noise ? 0 : mt_magnitude(mt_change_of(change));
}

static int most_changed_phase(const struct mt_diff_device *device)
{
    int phase = 0;
    for (int i = 1; i < (int)MT_PHASE_COUNT; i++)
        if (apart(&device->phase[i]) > apart(&device->phase[phase]))
            phase = i;
    return phase;
}

/* Return the phase to compare instead of the peaks; -1: none. Peaks in two phases have little in
 * common. Nearly equal peaks tell little if a phase has changed by more than the allocator rounds
 * up. */
static int wanted_phase(const struct mt_diff_device *device)
{
    if (device->peak_moved)
        return (int)device->now->phase;
    int phase = most_changed_phase(device);
    uint64_t there = apart(&device->phase[phase]), here = apart(&device->allocated);
    int tells_more = here ? there / 16 > here && there > device->allocated.now / 100 : there > 0;
    return tells_more ? phase : -1;
}

static const struct mt_digest_device *run_in(const struct mt_digest_device *run, int phase)
{
    return (int)run->phase == phase ? run : run->in_phase[phase];
}

/* Take the runs at their highest moments in the wanted phase, if all were read there. */
static void choose_moments(struct mt_diff_device *device)
{
    int phase = wanted_phase(device);
    size_t n = device->n_new + device->n_old;
    device->in_phase = -1;
    for (size_t i = 0; i < n && phase >= 0; i++)
        if (!run_in(device->runs[i], phase))
            phase = -1;
    for (size_t i = 0; i < n && phase >= 0; i++)
        device->runs[i] = run_in(device->runs[i], phase);
    device->in_phase = phase;
}

static int compare(struct mt_diff_device *device)
{
    int rc = mt_diff_numbers(device);
    if (rc)
        return rc;
    device->now = middle(device->runs, device->n_new, device->allocated.now);
    device->old = middle(device->runs + device->n_new, device->n_old, device->allocated.old);
    device->of_cuda = device->now->of_cuda || device->old->of_cuda;
    device->peak_moved = device->now->iterations && device->old->iterations &&
                         device->now->phase != device->old->phase;
    choose_moments(device);
    rc = mt_diff_categories(device);
    if (!rc)
        rc = mt_diff_collect_sites(device);
    if (!rc)
        rc = mt_diff_collect_shares(&device->modules, device,
                                    offsetof(struct mt_digest_device, modules));
    if (!rc)
        rc = mt_diff_collect_shares(&device->operators, device,
                                    offsetof(struct mt_digest_device, operators));
    if (!rc)
        rc = mt_diff_collect_shares(&device->stacks, device,
                                    offsetof(struct mt_digest_device, stacks));
    if (rc)
        return rc;
    mt_diff_pair_moved(device);
    mt_diff_name_kinds(device);
    return mt_diff_weigh(device);
}

static int add_device(struct mt_diff *diff, size_t *capacity, struct side old, struct side now,
                      long rank, int index)
{
    if (MT_GROW(diff->device, *capacity, diff->n_devices))
        return -ENOMEM;
    struct mt_diff_device *device = &diff->device[diff->n_devices++];
    *device = (struct mt_diff_device){.rank = rank == ANY_RANK ? -1 : rank,
                                      .device = index,
                                      .runs = calloc(old.n + now.n + 1, sizeof *device->runs)};
    if (!device->runs)
        return -ENOMEM;
    device->n_new = add_runs(device, now, rank, index);
    device->n_old = add_runs(device, old, rank, index);
    return compare(device);
}

/* Return the least index of a device over `after`; INT32_MAX: none. */
static int next_index(struct side side, long rank, int after)
{
    int next = INT32_MAX;
    for (size_t i = 0; i < side.n; i++)
        for (size_t j = 0; j < side.digest[i].n_devices; j++) {
            int index = side.digest[i].devices[j].device;
            if ((rank == ANY_RANK || side.digest[i].rank == rank) && index > after && index < next)
                next = index;
        }
    return next;
}

static bool has_several(struct side side, long rank)
{
    for (size_t i = 0; i < side.n; i++)
        if ((rank == ANY_RANK || side.digest[i].rank == rank) && side.digest[i].n_devices > 1)
            return true;
    return false;
}

static int add_rank(struct mt_diff *diff, size_t *capacity, struct side old, struct side now,
                    long rank)
{
    int first = INT32_MIN, rc = 0;
    if (!has_several(old, rank) && !has_several(now, rank)) {
        int index = next_index(now, rank, first);
        if (index == INT32_MAX)
            index = next_index(old, rank, first);
        return index == INT32_MAX ? 0 : add_device(diff, capacity, old, now, rank, index);
    }
    for (int at = first; !rc;) {
        int a = next_index(old, rank, at), b = next_index(now, rank, at);
        at = a < b ? a : b;
        if (at == INT32_MAX)
            break;
        rc = add_device(diff, capacity, old, now, rank, at);
    }
    return rc;
}

static bool has_rank(struct side side, long rank)
{
    for (size_t i = 0; i < side.n; i++)
        if (side.digest[i].rank == rank)
            return true;
    return false;
}

static long next_rank(struct side side, long after)
{
    long next = LONG_MAX;
    for (size_t i = 0; i < side.n; i++)
        if (side.digest[i].rank > after && side.digest[i].rank < next)
            next = side.digest[i].rank;
    return next;
}

/* Return the run with the highest peak, which is compared if no rank is on both sides. */
static struct side highest(struct side side)
{
    size_t best = 0;
    uint64_t most = 0;
    for (size_t i = 0; i < side.n; i++) {
        const struct mt_digest_device *device = mt_digest_main_device(&side.digest[i]);
        if (device && device->allocated > most) {
            most = device->allocated;
            best = i;
        }
    }
    return (struct side){side.digest + best, side.n ? 1 : 0};
}

int mt_diff_make(struct mt_diff *diff, const struct mt_digest *old, size_t n_old,
                 const struct mt_digest *now, size_t n_new)
{
    struct side old_side = {old, n_old}, new_side = {now, n_new};
    size_t capacity = 0;
    int rc = 0, found = 0;
    *diff = (struct mt_diff){.old = old, .n_old = n_old, .now = now, .n_new = n_new};
    for (long rank = -2; !rc && (rank = next_rank(new_side, rank)) != LONG_MAX;) {
        if (!has_rank(old_side, rank))
            continue;
        found = 1;
        rc = add_rank(diff, &capacity, old_side, new_side, rank);
    }
    return found || rc ? rc
                       : add_rank(diff, &capacity, highest(old_side), highest(new_side), ANY_RANK);
}

void mt_diff_clear(struct mt_diff *diff)
{
    for (size_t i = 0; i < diff->n_devices; i++) {
        struct mt_diff_device *device = &diff->device[i];
        mt_matching_clear(&device->matching);
        free(device->runs);
        free(device->site);
        mt_diff_shares_clear(&device->modules);
        mt_diff_shares_clear(&device->operators);
        mt_diff_shares_clear(&device->stacks);
    }
    free(diff->device);
    *diff = (struct mt_diff){0};
}

const struct mt_diff_device *mt_diff_main_device(const struct mt_diff *diff)
{
    const struct mt_diff_device *best = NULL;
    for (size_t i = 0; i < diff->n_devices; i++) {
        const struct mt_diff_device *device = &diff->device[i];
        uint64_t a = apart(&device->allocated), b = best ? apart(&best->allocated) : 0;
        if (!best || a > b || (a == b && device->allocated.now > best->allocated.now))
            best = device;
    }
    return best;
}

int mt_diff_wants_phase(const struct mt_diff *diff)
{
    const struct mt_diff_device *device = mt_diff_main_device(diff);
    return device && device->in_phase < 0 ? wanted_phase(device) : -1;
}

bool mt_diff_is_same(const struct mt_diff_device *device)
{
    int same = !apart(&device->allocated) && !apart(&device->reserved) && !apart(&device->at_end) &&
               !apart(&device->growth);
    for (size_t i = 0; i < device->n_sites; i++)
        same &= !apart(&device->site[i].bytes) && !apart(&device->site[i].blocks);
    for (unsigned i = 0; i < MT_PHASE_COUNT; i++)
        same &= !apart(&device->phase[i]);
    return same;
}
