/* SPDX-License-Identifier: Apache-2.0 */
#include "diff.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct mt_digest_device nothing = {.device = MT_NO_DEVICE};

struct side {
    const struct mt_digest *digest;
    const size_t *of; /* their processes; NULL: all of one */
    size_t n;
};

static bool is_of(struct side side, size_t i, size_t process)
{
    return !side.of || side.of[i] == process;
}

#define ONLY_DEVICE INT32_MIN

/* Return a digest's device of that index. */
static const struct mt_digest_device *device_of(const struct mt_digest *digest, int index)
{
    for (size_t i = 0; i < digest->n_devices; i++)
        if (digest->devices[i].device == index || index == ONLY_DEVICE)
            return &digest->devices[i];
    return &nothing;
}

static size_t add_runs(struct mt_diff_device *to, struct side side, size_t process, int index)
{
    size_t n = 0;
    for (size_t i = 0; i < side.n; i++)
        if (is_of(side, i, process))
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
 * common; the phase that changed more explains the move. A lower peak belongs to the phase that was
 * lower before; the other one changed. Nearly equal peaks explain little if a phase has changed by
 * more than rounding. */
static int wanted_phase(const struct mt_diff_device *device)
{
    if (device->peak_moved) {
        const struct mt_change *old = &device->phase[device->old->phase],
                               *now = &device->phase[device->now->phase];
        return (int)(apart(old) > apart(now) ? device->old->phase : device->now->phase);
    }
    int phase = most_changed_phase(device);
    uint64_t there = apart(&device->phase[phase]), here = apart(&device->allocated);
    bool is_larger_there =
        here ? there / 16 > here && there > device->allocated.now / 100 : there > 0;
    return is_larger_there ? phase : -1;
}

static const struct mt_digest_device *run_in(const struct mt_digest_device *run, int phase)
{
    return (int)run->phase == phase ? run : run->in_phase[phase];
}

/* Use the runs at their highest moments in the requested phase, if all were read there. */
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
    rc = mt_diff_weigh(device);
    return rc ? rc : mt_diff_find_scale(device);
}

/* Compare a device of a process. index: of the new runs; ONLY_DEVICE: whichever it is. */
static int add_device(struct mt_diff *diff, size_t *capacity, struct side old, struct side now,
                      size_t process, int index)
{
    if (MT_GROW(diff->device, *capacity, diff->n_devices))
        return -ENOMEM;
    struct mt_diff_device *device = &diff->device[diff->n_devices++];
    *device = (struct mt_diff_device){
        .rank = -1, .device = index, .runs = calloc(old.n + now.n + 1, sizeof *device->runs)};
    if (!device->runs)
        return -ENOMEM;
    device->n_new = add_runs(device, now, process, index);
    device->n_old = add_runs(device, old, process, index);
    return compare(device);
}

/* Return the smallest device index above `after`; INT32_MAX: none. */
static int next_index(struct side side, size_t process, int after)
{
    int next = INT32_MAX;
    for (size_t i = 0; i < side.n; i++)
        for (size_t j = 0; j < side.digest[i].n_devices; j++) {
            int index = side.digest[i].devices[j].device;
            if (is_of(side, i, process) && index > after && index < next)
                next = index;
        }
    return next;
}

/* Return whether each digest of a process has at most one device. */
static bool has_only_device(struct side side, size_t process)
{
    bool has_any = false;
    for (size_t i = 0; i < side.n; i++)
        if (is_of(side, i, process)) {
            if (side.digest[i].n_devices > 1)
                return false;
            has_any |= side.digest[i].n_devices == 1;
        }
    return has_any;
}

static int add_process(struct mt_diff *diff, size_t *capacity, struct side old, struct side now,
                       size_t process)
{
    int rc = 0;
    if (has_only_device(old, process) && has_only_device(now, process)) {
        rc = add_device(diff, capacity, old, now, process, ONLY_DEVICE);
        if (diff->n_devices)
            diff->device[diff->n_devices - 1].device = next_index(now, process, ONLY_DEVICE);
        return rc;
    }
    for (int at = ONLY_DEVICE; !rc;) {
        int a = next_index(old, process, at), b = next_index(now, process, at);
        at = a < b ? a : b;
        if (at == INT32_MAX)
            break;
        rc = add_device(diff, capacity, old, now, process, at);
    }
    return rc;
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
    return (struct side){side.digest + best, NULL, side.n ? 1 : 0};
}

/* Name a process's devices, added from `first` on. */
static void name_devices(struct mt_diff *diff, size_t first, size_t process)
{
    const struct mt_process *of = &diff->processes.process[process];
    for (size_t i = first; i < diff->n_devices; i++) {
        diff->device[i].rank = of->now->rank;
        if (of->now->rank < 0 && diff->processes.n > 1)
            mt_process_name(diff->device[i].process, &diff->processes, of, false);
    }
}

/* Compare each process with itself. Return whether any was compared, or -ENOMEM. */
static int add_processes(struct mt_diff *diff, size_t *capacity, struct side old, struct side now)
{
    int rc = 0, found = 0;
    for (size_t i = 0; i < diff->processes.n && !rc; i++) {
        size_t first = diff->n_devices;
        if (!diff->processes.process[i].now || !diff->processes.process[i].old)
            continue;
        found = 1;
        rc = add_process(diff, capacity, old, now, i);
        name_devices(diff, first, i);
    }
    return rc ? rc : found;
}

MT_ORDER(by_rank, struct mt_diff_device, MT_RISING(rank) ?: MT_RISING(order))

static void sort_devices(struct mt_diff *diff)
{
    for (size_t i = 0; i < diff->n_devices; i++)
        diff->device[i].order = i;
    if (diff->n_devices)
        qsort(diff->device, diff->n_devices, sizeof *diff->device, by_rank);
}

bool mt_diff_is_of_two_ranks(const struct mt_diff *diff)
{
    return diff->n_old == 1 && diff->n_new == 1 && diff->old->rank >= 0 && diff->now->rank >= 0 &&
           diff->old->rank != diff->now->rank;
}

int mt_diff_make(struct mt_diff *diff, const struct mt_digest *old, size_t n_old,
                 const struct mt_digest *now, size_t n_new)
{
    size_t capacity = 0;
    *diff = (struct mt_diff){.old = old, .n_old = n_old, .now = now, .n_new = n_new};
    int rc = mt_processes_match(&diff->processes, now, n_new, old, n_old);
    if (!rc)
        rc = mt_parts_find(&diff->parts, &diff->processes);
    if (rc)
        return rc;
    struct side old_side = {old, diff->processes.old, n_old};
    struct side new_side = {now, diff->processes.now, n_new};
    int found = add_processes(diff, &capacity, old_side, new_side);
    if (!found && n_old && n_new)
        found = add_process(diff, &capacity, highest(old_side), highest(new_side), 0);
    bool is_one_with_another = n_old == 1 && n_new == 1 && diff->processes.n == 1 &&
                               diff->processes.process->is_renamed && !old->group;
    if (mt_diff_is_of_two_ranks(diff) || is_one_with_another)
        diff->parts.n = 0; /* as requested */
    sort_devices(diff);
    return found < 0 ? found : 0;
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
    free(diff->parts.part);
    mt_processes_clear(&diff->processes);
    *diff = (struct mt_diff){0};
}

int mt_diff_only(const struct mt_diff_device *device)
{
    return device->now == &nothing ? -1 : device->old == &nothing;
}

const struct mt_diff_device *mt_diff_main_device(const struct mt_diff *diff)
{
    const struct mt_diff_device *best = NULL;
    for (size_t i = 0; i < diff->n_devices; i++) {
        const struct mt_diff_device *device = &diff->device[i];
        uint64_t a = apart(&device->allocated), b = best ? apart(&best->allocated) : 0;
        bool is_lacking = mt_diff_only(device);
        if (best && is_lacking != (bool)mt_diff_only(best)) {
            best = is_lacking ? best : device; /* has no counterpart */
            continue;
        }
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
    bool same = !apart(&device->allocated) && !apart(&device->reserved) &&
                !apart(&device->at_end) && !apart(&device->growth);
    for (size_t i = 0; i < device->n_sites; i++)
        same &= !apart(&device->site[i].bytes) && !apart(&device->site[i].blocks);
    for (unsigned i = 0; i < MT_PHASE_COUNT; i++)
        same &= !apart(&device->phase[i]);
    return same;
}
