/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs held to a budget. Each new run is held to it by itself, device by device; baselines are the
 * runs of the same rank, of which the median counts.
 */
#ifndef MT_CHECK_H
#define MT_CHECK_H

#include <stdbool.h>

#include "allowed.h"
#include "budget.h"
#include "nightly/diff/diff.h"

/* Where what is over most likely comes from: a call site at the peak, and by how much it has grown
 * since the baseline; without one, what it has. */
struct mt_blame {
    const struct mt_digest_site *site; /* NULL: not known */
    uint64_t bytes;
    bool is_growth;
};

/* One limit and one device of one run; or how a run ended that is not whole, which is a limit of its
 * own (mt_ended_limit), of no amount, broken unless it is allowed. Amounts are in the limit's unit. */
struct mt_finding {
    const struct mt_limit *limit;
    char *name; /* the limit's, or of one module or call site that it holds for */
    const struct mt_digest *run;
    const struct mt_digest_device *device; /* NULL: of how a run ended in which nothing was allocated */
    const struct mt_digest *baseline; /* the one whose peak is the median; NULL: none */
    uint64_t value, most;             /* measured, and what is allowed in all */
    uint64_t base, spread;            /* of the baselines: median, highest - lowest */
    size_t n_baselines;
    enum { MT_BY_LIMIT, MT_BY_SPREAD, MT_BY_IGNORE } tolerance; /* which decides of a relative limit */
    const struct mt_allowance *allowance; /* part of most; NULL: none */
    uint64_t extra;                       /* how much that is */
    bool is_broken;
    bool is_unknown; /* growth, of too few iterations or none: the limit holds, and says nothing */
    struct mt_blame blame; /* of a broken one */
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

/* Holds the runs to the budget. There are baselines where it has relative limits. 0 or -ENOMEM.
 * Cleared with mt_check_clear in any case; refers to all that it is given. */
int mt_check_make(struct mt_check *check, const struct mt_budget *budget, mt_allowed_ends allowed,
                  const struct mt_digest *runs, size_t n_runs, const struct mt_digest *baselines,
                  size_t n_baselines);
void mt_check_clear(struct mt_check *check);

/* Finds where a broken limit comes from. diff: from the baseline to the run, or NULL. */
struct mt_blame mt_blame_find(const struct mt_limit *limit, const char *pattern,
                              const struct mt_digest_device *device,
                              const struct mt_diff_device *diff);

/* What a device has of what is limited; pattern: of a module or call site. */
uint64_t mt_measure(const struct mt_limit *limit, const char *pattern,
                    const struct mt_digest_device *device);

/* Whether a call site belongs to what is limited. */
bool mt_limit_has_site(const struct mt_limit *limit, const char *pattern,
                       const struct mt_digest_site *site);

/* The device of a baseline that one of a run is compared with; NULL: it has none. */
const struct mt_digest_device *mt_same_device(const struct mt_digest *baseline,
                                              const struct mt_digest_device *device);

#endif
