/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/median.h"
#include "analyzer/support/search.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The size of each module, or of each call site, of a device at the peak, for limits of "every". */

struct mt_each_name {
    const struct mt_digest_site *site; /* the first of this name */
    uint64_t bytes;
};

struct mt_each {
    enum mt_subject subject; /* MT_OF_MODULE or MT_OF_SITE */
    struct mt_each_name *name;
    size_t n;
};

MT_ORDER(by_module, struct mt_each_name, MT_BY_TEXT(site->module))

MT_ORDER(by_site, struct mt_each_name, MT_BY_TEXT(site->file) ?: MT_BY_TEXT(site->function))

typedef int compare(const void *left, const void *right);

static compare *order_of(const struct mt_each *each)
{
    return each->subject == MT_OF_MODULE ? by_module : by_site;
}

/* Keep the first site of each name, which is the one with the lowest address. */
static void merge(struct mt_each *each)
{
    size_t n = 0;
    for (size_t i = 0; i < each->n; i++) {
        struct mt_each_name *to = &each->name[n ? n - 1 : 0], *from = &each->name[i];
        if (!n || order_of(each)(to, from)) {
            each->name[n++] = *from;
            continue;
        }
        to->bytes += from->bytes;
        if (from->site < to->site)
            to->site = from->site;
    }
    each->n = n;
}

/* Return 0 or -ENOMEM. Call each_clear in any case. */
static int each_make(struct mt_each *each, enum mt_subject subject,
                     const struct mt_digest_device *device)
{
    *each = (struct mt_each){.subject = subject,
                             .name = calloc(device->n_sites + 1, sizeof *each->name),
                             .n = device->n_sites};
    if (!each->name) {
        each->n = 0;
        return -ENOMEM;
    }
    for (size_t i = 0; i < each->n; i++)
        each->name[i] = (struct mt_each_name){&device->site[i], device->site[i].bytes};
    qsort(each->name, each->n, sizeof *each->name, order_of(each));
    merge(each);
    return 0;
}

static void each_clear(struct mt_each *each)
{
    free(each->name);
    *each = (struct mt_each){0};
}

/* Return the entry of the site's name; NULL: none. The site may be another device's. */
static const struct mt_each_name *find_each(const struct mt_each *each,
                                            const struct mt_digest_site *site)
{
    const struct mt_each_name key = {.site = site};
    return each->n ? bsearch(&key, each->name, each->n, sizeof key, order_of(each)) : NULL;
}

/* A run's baselines: those of the same process. */
struct baselines {
    const struct mt_digest *digest;
    size_t n;
    const size_t *of; /* by digest: its process */
    size_t process;
    const struct mt_digest *median;
};

/* The site that a limit of "every" is about, and all sizes by name in the run and in each
 * baseline. */
struct each_of {
    const struct mt_digest_site *site; /* NULL: not a limit of "every" */
    struct mt_each own, *base;         /* base: one for each baseline */
};

static uint64_t bytes_of(const struct mt_each *each, const struct mt_digest_site *site)
{
    const struct mt_each_name *name = find_each(each, site);
    return name ? name->bytes : 0;
}

static bool counts(const struct baselines *baselines, size_t i)
{
    return baselines->of[i] == baselines->process && baselines->digest[i].n_devices;
}

/* Fill in the number of baselines, their median and their spread. */
static int measure_base(struct mt_finding *finding, const struct baselines *baselines,
                        const struct each_of *each)
{
    uint64_t *values = calloc(baselines->n + 1, sizeof *values);
    size_t n = 0;
    if (!values)
        return -ENOMEM;
    for (size_t i = 0; i < baselines->n; i++)
        if (counts(baselines, i))
            values[n++] = each->site ? bytes_of(&each->base[i], each->site)
                                     : mt_measure(finding->limit, finding->limit->pattern,
                                                  mt_same_device(&baselines->digest[i],
                                                                 finding->run, finding->device));
    if (n) {
        mt_sort_sizes(values, n);
        finding->base = mt_median(values, n);
        finding->spread = values[n - 1] - values[0];
    }
    finding->n_baselines = n;
    free(values);
    return 0;
}

/* Return how much more than the baseline a relative limit tolerates. Fragmentation is a percentage
 * already: its relative limit adds points. */
static uint64_t tolerance(struct mt_finding *finding, const struct mt_budget *budget)
{
    const struct mt_limit *limit = finding->limit;
    uint64_t most = limit->most.value;
    bool in_bytes = limit->subject != MT_OF_FRAGMENTATION;
    if (limit->most.unit == MT_PERCENT && in_bytes)
        most = mt_part_by_percent(finding->base, limit->most.value);
    finding->tolerance = most < finding->spread ? MT_BY_SPREAD : MT_BY_LIMIT;
    if (most < finding->spread)
        most = finding->spread;
    /* Do not ignore any growth, since each iteration adds it again. */
    if (in_bytes && limit->subject != MT_OF_GROWTH && most < budget->ignore.value) {
        most = budget->ignore.value;
        finding->tolerance = MT_BY_IGNORE;
    }
    return most;
}

static uint64_t extra(const struct mt_finding *finding, const struct mt_allowance *allowance)
{
    if (allowance->extra.unit == MT_PERCENT && finding->limit->subject != MT_OF_FRAGMENTATION)
        return mt_part_by_percent(finding->most, allowance->extra.value);
    return allowance->extra.value;
}

/* Return the allowance that adds most. */
static const struct mt_allowance *find_allowance(const struct mt_finding *finding,
                                                 const struct mt_budget *budget)
{
    const struct mt_allowance *best = NULL;
    for (size_t i = 0; i < budget->n_allowances; i++) {
        const struct mt_allowance *allowance = &budget->allowance[i];
        if (!allowance->has_expired && !strcmp(allowance->limit, finding->limit->name) &&
            (!best || extra(finding, allowance) > extra(finding, best)))
            best = allowance;
    }
    return best;
}

static void judge(struct mt_finding *finding, const struct mt_budget *budget,
                  const struct each_of *each)
{
    const struct mt_limit *limit = finding->limit;
    finding->value = each->site ? bytes_of(&each->own, each->site)
                                : mt_measure(limit, limit->pattern, finding->device);
    finding->most =
        limit->most.is_relative ? finding->base + tolerance(finding, budget) : limit->most.value;
    finding->allowance = find_allowance(finding, budget);
    if (finding->allowance)
        finding->extra = extra(finding, finding->allowance);
    finding->most += finding->extra;
    finding->is_broken = finding->value > finding->most;
    finding->is_unknown = limit->subject == MT_OF_GROWTH && !mt_digest_has_growth(finding->device);
}

static int add(struct mt_check *check, const struct mt_finding *of, const char *name)
{
    if (MT_GROW(check->finding, check->capacity, check->n))
        return -ENOMEM;
    struct mt_finding *finding = &check->finding[check->n];
    *finding = *of;
    finding->name = strdup(name);
    check->n += finding->name != NULL;
    return finding->name ? 0 : -ENOMEM;
}

static int hold(struct mt_check *check, const struct mt_finding *of,
                const struct baselines *baselines, const struct each_of *each, const char *name)
{
    int rc = add(check, of, name);
    if (rc)
        return rc;
    struct mt_finding *finding = &check->finding[check->n - 1];
    finding->baseline = baselines->median;
    rc = measure_base(finding, baselines, each);
    if (!rc)
        judge(finding, check->budget, each);
    check->broken += (size_t)finding->is_broken;
    check->unknown += (size_t)finding->is_unknown;
    return rc;
}

/* Return the name within "module.layers.3", "site.net.py:Net.forward": the pattern comes after the
 * first dot. */
static char *name_each(const struct mt_limit *limit, const struct mt_digest_site *site)
{
    char *name;
    int n = limit->subject == MT_OF_MODULE
                ? asprintf(&name, "module.%s", site->module)
                : asprintf(&name, "site.%s:%s", site->file, site->function);
    return n < 0 ? NULL : name;
}

/* Return whether another limit of this kind names the site. */
static bool is_named_elsewhere(const struct mt_budget *budget, enum mt_subject subject,
                               const struct mt_digest_site *site)
{
    for (size_t i = 0; i < budget->n_limits; i++) {
        const struct mt_limit *limit = &budget->limit[i];
        if (limit->subject == subject && !limit->of_each &&
            mt_limit_has_site(limit, limit->pattern, site))
            return true;
    }
    return false;
}

static void clear_each(struct each_of *each, const struct baselines *baselines)
{
    for (size_t i = 0; each->base && i < baselines->n; i++)
        each_clear(&each->base[i]);
    free(each->base);
    each_clear(&each->own);
}

static int make_each(struct each_of *each, const struct mt_finding *of,
                     const struct baselines *baselines)
{
    enum mt_subject subject = of->limit->subject;
    each->base = calloc(baselines->n + 1, sizeof *each->base);
    int rc = each->base ? each_make(&each->own, subject, of->device) : -ENOMEM;
    for (size_t i = 0; i < baselines->n && !rc; i++)
        if (counts(baselines, i))
            rc = each_make(&each->base[i], subject,
                           mt_same_device(&baselines->digest[i], of->run, of->device));
    return rc;
}

static int hold_one(struct mt_check *check, const struct mt_finding *of,
                    const struct baselines *baselines, const struct each_of *each)
{
    char *name = name_each(of->limit, each->site);
    int rc = name ? hold(check, of, baselines, each, name) : -ENOMEM;
    free(name);
    return rc;
}

/* Check each module, or each call site, of a device. */
static int hold_each(struct mt_check *check, const struct mt_finding *of,
                     const struct baselines *baselines)
{
    const struct mt_limit *limit = of->limit;
    struct each_of each = {0};
    int rc = make_each(&each, of, baselines);
    for (size_t i = 0; i < of->device->n_sites && !rc; i++) {
        each.site = &of->device->site[i];
        if ((limit->subject != MT_OF_MODULE || *each.site->module) &&
            !is_named_elsewhere(check->budget, limit->subject, each.site) &&
            find_each(&each.own, each.site)->site == each.site)
            rc = hold_one(check, of, baselines, &each);
    }
    clear_each(&each, baselines);
    return rc;
}

/* Return the difference between the numbers of baselines with a lower and with a higher peak. */
static size_t distance(const struct baselines *baselines, uint64_t peak)
{
    size_t lower = 0, higher = 0;
    for (size_t i = 0; i < baselines->n; i++) {
        if (!counts(baselines, i))
            continue;
        uint64_t other = mt_digest_main_device(&baselines->digest[i])->allocated;
        lower += other < peak;
        higher += other > peak;
    }
    return lower > higher ? lower - higher : higher - lower;
}

static const struct mt_digest *find_median(const struct baselines *baselines)
{
    const struct mt_digest *best = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < baselines->n; i++) {
        if (!counts(baselines, i))
            continue;
        size_t far = distance(baselines, mt_digest_main_device(&baselines->digest[i])->allocated);
        if (far < least) {
            least = far;
            best = &baselines->digest[i];
        }
    }
    return best;
}

static const char *pattern_of(const struct mt_finding *finding)
{
    return finding->limit->of_each ? strchr(finding->name, '.') + 1 : finding->limit->pattern;
}

static const struct mt_diff_device *difference_of(const struct mt_diff *diff,
                                                  const struct mt_digest_device *device)
{
    for (size_t i = 0; i < diff->n_devices; i++)
        if (diff->device[i].now == device)
            return &diff->device[i];
    return NULL;
}

/* Find the lines responsible for a run's broken limits, among the findings from `first` on. */
static int blame_run(struct mt_check *check, size_t first, const struct mt_digest *run,
                     const struct mt_digest *baseline)
{
    struct mt_diff diff = {0};
    int rc = baseline ? mt_diff_make(&diff, baseline, 1, run, 1) : 0;
    for (size_t i = first; i < check->n && !rc; i++) {
        struct mt_finding *finding = &check->finding[i];
        if (finding->is_broken)
            finding->blame = mt_blame_find(finding->limit, pattern_of(finding), finding->device,
                                           difference_of(&diff, finding->device));
    }
    mt_diff_clear(&diff);
    return rc;
}

/* Check whether a limit's pattern matches anything. Without a match, something may have been
 * renamed. */
static bool is_found(const struct mt_limit *limit, const struct mt_digest *digests, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < digests[i].n_devices; j++)
            if (mt_limit_names(limit, &digests[i].devices[j]))
                return true;
    return false;
}

const struct mt_limit mt_missing_limit = {.subject = MT_OF_MISSING,
                                          .name = (char *)(uintptr_t) "missing"};

const struct mt_limit mt_ended_limit = {.subject = MT_OF_ENDED,
                                        .name = (char *)(uintptr_t) "ended"};

static int hold_end(struct mt_check *check, const struct mt_digest *run)
{
    const struct mt_finding of = {.limit = &mt_ended_limit,
                                  .run = run,
                                  .device = mt_digest_main_device(run),
                                  .is_broken = !mt_is_allowed_end(check->allowed, &run->ended)};
    if (!mt_ended_is_reported(&run->ended))
        return 0;
    check->broken += (size_t)of.is_broken;
    return add(check, &of, mt_ended_limit.name);
}

static int hold_run(struct mt_check *check, const struct mt_digest *run,
                    const struct baselines *baselines)
{
    int rc = hold_end(check, run);
    size_t first = check->n, broken = check->broken;
    for (size_t i = 0; i < run->n_devices; i++)
        for (size_t j = 0; j < check->budget->n_limits && !rc; j++) {
            const struct mt_limit *limit = &check->budget->limit[j];
            const struct mt_finding of = {.limit = limit, .run = run, .device = &run->devices[i]};
            rc = limit->of_each ? hold_each(check, &of, baselines)
                                : hold(check, &of, baselines, &(struct each_of){0}, limit->name);
        }
    if (!rc && check->broken > broken)
        rc = blame_run(check, first, run, baselines->median);
    return rc;
}

static int hold_part(struct mt_check *check, const struct mt_run_part *part,
                     const struct mt_check_allowed *allowed)
{
    const struct mt_finding of = {
        .limit = &mt_missing_limit,
        .run = part->lacks && part->is_missing ? part->lacks
               : part->is_missing              ? check->runs
                                               : part->has,
        .device = part->device,
        .baseline = part->is_missing ? part->has : NULL,
        .part = part,
        .is_broken =
            part->is_missing && !mt_part_is_allowed(part, allowed->missing, allowed->n_missing)};
    char name[MT_PART_NAME + 32];
    snprintf(name, sizeof name, "%s.%s:%s", part->is_missing ? mt_missing_limit.name : "new",
             mt_part_kind_names[part->kind], part->name);
    check->broken += (size_t)of.is_broken;
    return add(check, &of, name);
}

/* A limit by name that no run matches. */
static int hold_absent(struct mt_check *check, const struct mt_limit *limit)
{
    const struct mt_finding of = {.limit = limit,
                                  .run = check->runs,
                                  .device = mt_digest_main_device(check->runs),
                                  .is_absent = true,
                                  .is_broken = true};
    if (!limit->pattern || !*limit->pattern || limit->of_each ||
        (limit->subject != MT_OF_MODULE && limit->subject != MT_OF_SITE) ||
        is_found(limit, check->runs, check->n_runs))
        return 0;
    check->broken++;
    return add(check, &of, limit->name);
}

static int hold_runs(struct mt_check *check, const struct mt_digest *baselines, size_t n_baselines)
{
    int rc = 0;
    for (size_t i = 0; i < check->n_runs && !rc; i++) {
        struct baselines of = {baselines, n_baselines, check->processes.old,
                               check->processes.now[i], NULL};
        of.median = find_median(&of);
        rc = hold_run(check, &check->runs[i], &of);
    }
    return rc;
}

int mt_check_make(struct mt_check *check, const struct mt_budget *budget,
                  const struct mt_check_allowed *allowed, const struct mt_digest *runs,
                  size_t n_runs, const struct mt_digest *baselines, size_t n_baselines)
{
    *check = (struct mt_check){
        .budget = budget, .runs = runs, .n_runs = n_runs, .allowed = allowed->ends};
    int rc = mt_processes_match(&check->processes, runs, n_runs, baselines, n_baselines);
    if (!rc)
        rc = mt_parts_find(&check->parts, &check->processes);
    for (size_t i = 0; i < check->parts.n && !rc; i++)
        rc = hold_part(check, &check->parts.part[i], allowed);
    for (size_t i = 0; i < budget->n_limits && n_runs && !rc; i++)
        rc = hold_absent(check, &budget->limit[i]);
    return rc ? rc : hold_runs(check, baselines, n_baselines);
}

static bool is_broken_already(const struct mt_check *check, const struct mt_finding *of)
{
    for (size_t i = 0; i < check->n; i++) {
        const struct mt_finding *finding = &check->finding[i];
        if (finding->is_broken && finding->device == of->device && finding->run == of->run &&
            !strcmp(finding->name, of->name))
            return true;
    }
    return false;
}

int mt_check_add_pinned(struct mt_check *check, const struct mt_check *pinned)
{
    int rc = 0;
    for (size_t i = 0; i < pinned->n && !rc; i++) {
        const struct mt_finding *of = &pinned->finding[i];
        char *name = NULL;
        if (!of->is_broken || !mt_finding_has_amount(of) || !of->limit->most.is_relative ||
            is_broken_already(check, of))
            continue;
        rc = asprintf(&name, "pinned.%s", of->name) < 0 ? -ENOMEM : add(check, of, name);
        free(name);
        check->broken += !rc;
    }
    return rc;
}

void mt_check_clear(struct mt_check *check)
{
    for (size_t i = 0; i < check->n; i++)
        free(check->finding[i].name);
    free(check->finding);
    free(check->parts.part);
    mt_processes_clear(&check->processes);
    *check = (struct mt_check){0};
}
