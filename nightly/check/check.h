/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check runs against a budget, each run and device by itself. The baselines of a run are those of
 * its rank, and their median counts.
 */
#ifndef MT_CHECK_H
#define MT_CHECK_H

#include <stdbool.h>

#include "analyzer/trace/ended.h"
#include "budget.h"
#include "nightly/diff/diff.h"

/* The most likely cause of a broken limit: a line at the peak, and how much it has grown since the
 * baseline. Without a baseline, its size. */
struct mt_blame {
    const struct mt_digest_site *site; /* its largest; NULL: not known */
    const char *module;                /* the only one; "": none or several */
    enum mt_certainty certainty;       /* of the category, for the block where it is least */
    uint64_t bytes;
    bool is_growth;
};

/* One limit on one device of one run. How a run ended, if it is not whole, is a finding, too: of
 * mt_ended_limit, without an amount, and broken unless the end is allowed. Amounts are in the
 * limit's unit. */
struct mt_finding {
    const struct mt_limit *limit;
    char *name; /* the limit's, or with the module or call site */
    const struct mt_digest *run;
    const struct mt_digest_device *device; /* NULL: an end of a run that allocated nothing */
    const struct mt_digest *baseline;      /* the baseline with the median peak; NULL: none */
    uint64_t value, most;                  /* measured, and the most allowed in all */
    uint64_t base, spread;                 /* of the baselines: median, highest - lowest */
    size_t n_baselines;
    enum { MT_BY_LIMIT, MT_BY_SPREAD, MT_BY_IGNORE } tolerance; /* what sets a relative limit */
    const struct mt_allowance *allowance;                       /* part of most; NULL: none */
    uint64_t extra;                                             /* its amount */
    bool is_broken;
    bool is_unknown;       /* growth after too few iterations: the limit holds */
    struct mt_blame blame; /* if broken */
};

/* The limit of findings that say how a run ended. */
extern const struct mt_limit mt_ended_limit;

struct mt_check {
    const struct mt_budget *budget;
    const struct mt_digest *runs;
    size_t n_runs;
    mt_allowed_ends allowed;
    struct mt_finding *finding; /* run by run, in the order of the budget */
    size_t n, capacity;
    size_t broken, unknown;
};

/* Check the runs. A budget with relative limits needs baselines. Return 0 or -ENOMEM. Call
 * mt_check_clear in any case. All arguments must outlive the check. */
int mt_check_make(struct mt_check *check, const struct mt_budget *budget, mt_allowed_ends allowed,
                  const struct mt_digest *runs, size_t n_runs, const struct mt_digest *baselines,
                  size_t n_baselines);
void mt_check_clear(struct mt_check *check);

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

/* Return the baseline's device to compare a run's device with; NULL: none. */
const struct mt_digest_device *mt_same_device(const struct mt_digest *baseline,
                                              const struct mt_digest_device *device);

#endif
