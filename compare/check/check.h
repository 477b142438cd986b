/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check runs against a budget, each run and device separately. The baselines of a run are those of
 * the same process, and their median counts. Parts that the baselines have and the runs lack are
 * findings.
 */
#ifndef MT_CHECK_H
#define MT_CHECK_H

#include <stdbool.h>

#include "analyzer/trace/ended.h"
#include "budget.h"
#include "compare/diff/diff.h"

/* The most likely cause of a broken limit: a line at the peak, and how much it has grown since the
 * baseline. Without a baseline, its size. */
struct mt_blame {
    const struct mt_digest_site *site;   /* its largest site; NULL: unknown */
    const struct mt_digest_saver *saver; /* as in struct mt_diff_site */
    const char *module;                  /* the only one; "": none or several */
    enum mt_certainty certainty;         /* lowest certainty of the category among its blocks */
    uint64_t bytes;
    double scale;      /* factor of the batch or length, which this line changed with; 0: none */
    uint64_t n_scaled; /* lines that did */
    bool is_growth;
};

/* The result of one limit on one device of one run. The end of an incomplete run is also a finding,
 * of mt_ended_limit, without an amount, and broken unless the end is allowed. So is a process,
 * rank, device or phase that the baselines have and the runs lack (broken unless allowed) or vice
 * versa (not broken), of mt_missing_limit. Amounts are in the limit's unit. */
struct mt_finding {
    const struct mt_limit *limit;
    char *name; /* the limit's, or with the module or call site */
    const struct mt_digest *run;
    const struct mt_digest_device *device; /* NULL: an end of a run that allocated nothing */
    const struct mt_digest *baseline;      /* the baseline with the median peak; NULL: none */
    uint64_t value, most;  /* measured, and the most allowed including the allowance */
    uint64_t base, spread; /* of the baselines: median, highest - lowest */
    size_t n_baselines;
    enum { MT_BY_LIMIT, MT_BY_SPREAD, MT_BY_IGNORE } tolerance; /* what sets a relative limit */
    const struct mt_allowance *allowance;                       /* part of most; NULL: none */
    uint64_t extra;                                             /* its amount */
    const struct mt_run_part *part;                             /* of mt_missing_limit */
    bool is_absent; /* the limit's pattern matches nothing in any run */
    bool is_broken;
    bool is_unknown;       /* growth after too few iterations; the limit then holds */
    struct mt_blame blame; /* if broken */
};

/* The limits of findings about how a run ended and about missing or new parts. */
extern const struct mt_limit mt_ended_limit, mt_missing_limit;

/* Return whether a finding is of one of these: without amounts. */
static inline bool mt_finding_has_amount(const struct mt_finding *finding)
{
    return finding->limit->subject < MT_OF_ENDED && !finding->is_absent;
}

/* What the user accepts. */
struct mt_check_allowed {
    mt_allowed_ends ends;
    const char *const *missing; /* "rank:3"; mt_part_is_pattern */
    size_t n_missing;
};

struct mt_check {
    const struct mt_budget *budget;
    const struct mt_digest *runs;
    size_t n_runs;
    mt_allowed_ends allowed;
    struct mt_processes processes;
    struct mt_part_list parts;
    struct mt_finding *finding; /* missing and new parts; then run by run, as in the budget */
    size_t n, capacity;
    size_t broken, unknown;
};

/* Check the runs. A budget with relative limits needs baselines. Return 0 or -ENOMEM. Call
 * mt_check_clear in any case. All arguments must outlive the check. */
int mt_check_make(struct mt_check *check, const struct mt_budget *budget,
                  const struct mt_check_allowed *allowed, const struct mt_digest *runs,
                  size_t n_runs, const struct mt_digest *baselines, size_t n_baselines);
void mt_check_clear(struct mt_check *check);

/* Add relative limits that are broken only in another check of the same runs, against older
 * baselines, as "pinned.peak". The other check must outlive this one. Return 0 or -ENOMEM. */
int mt_check_add_pinned(struct mt_check *check, const struct mt_check *pinned);

/* Find the cause of a broken limit. diff: from the baseline to the run, or NULL. */
struct mt_blame mt_blame_find(const struct mt_limit *limit, const char *pattern,
                              const struct mt_digest_device *device,
                              const struct mt_diff_device *diff);

/* Return a device's amount for a limit. pattern: of modules or call sites. */
uint64_t mt_measure(const struct mt_limit *limit, const char *pattern,
                    const struct mt_digest_device *device);

/* Return whether a limit covers a call site. */
bool mt_limit_has_site(const struct mt_limit *limit, const char *pattern,
                       const struct mt_digest_site *site);

/* Return whether a limit's pattern matches a module or call site at a device's peak or, for call
 * sites, in its whole run. */
bool mt_limit_names(const struct mt_limit *limit, const struct mt_digest_device *device);

/* Return the run's device in its baseline, or the only device if both have one; a device without
 * memory: none. */
const struct mt_digest_device *mt_same_device(const struct mt_digest *baseline,
                                              const struct mt_digest *run,
                                              const struct mt_digest_device *device);

#endif
