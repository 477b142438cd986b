/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A budget: limits on a run's memory, as in memtap-budget(5).
 */
#ifndef MT_BUDGET_H
#define MT_BUDGET_H

#include "compare/digest/amount.h"
#include "compare/digest/digest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The subject of a limit. The first ones apply to the whole run. */
enum mt_subject {
    MT_OF_PEAK,
    MT_OF_RESERVED,
    MT_OF_GROWTH,
    MT_OF_FRAGMENTATION,
    MT_OF_END,
    MT_OF_CATEGORY,
    MT_OF_PHASE,
    MT_OF_MODULE,
    MT_OF_SITE,
    MT_OF_ENDED,   /* not in a budget: mt_ended_limit */
    MT_OF_MISSING, /* not in a budget: mt_missing_limit */
};

struct mt_limit {
    enum mt_subject subject;
    char *name;     /* "peak", "category.activations", "site.net.py:*" */
    char *pattern;  /* for modules and call sites */
    bool of_each;   /* "every" module or call site: pattern is unused */
    unsigned index; /* enum mt_category, enum mt_phase */
    struct mt_amount most;
    char *text;            /* most, as it was written */
    unsigned line, column; /* of the key */
};

/* An allowance: more memory for one limit, up to and including a day. */
struct mt_allowance {
    char *limit; /* its name */
    struct mt_amount extra;
    char *text; /* extra, as it was written */
    char *reason;
    int year, month, day;
    bool has_expired;
    unsigned line;
};

struct mt_budget {
    char *path;                /* "": the default budget */
    struct mt_amount ignore;   /* the least tolerance of relative limits */
    struct mt_limit *limit;    /* in the order of the file */
    size_t n_limits, capacity; /* of limit */
    struct mt_allowance *allowance;
    size_t n_allowances;
};

struct mt_budget_error {
    unsigned line, column; /* from 1; 0: of the whole file */
    char text[700];        /* what is wrong, and what was expected */
};

/* Parse a file, or a text of `size` bytes (path: for messages). Return 0, or a negative errno, with
 * *error filled except for -ENOMEM. Call mt_budget_clear in any case. */
int mt_budget_read(struct mt_budget *budget, const char *path, struct mt_budget_error *error);
int mt_budget_parse(struct mt_budget *budget, const char *path, const char *text, size_t size,
                    struct mt_budget_error *error);
void mt_budget_clear(struct mt_budget *budget);

/* The default budget of a check with a baseline. */
extern const char mt_budget_default[];
/* The default budget where equal programs use equal bytes: on a simulated card. */
extern const char mt_budget_default_exact[];

/* Expire the allowances that ended before this day. */
void mt_budget_set_today(struct mt_budget *budget, int year, int month, int day);

/* Return the first limit that is relative to a baseline; NULL: none. */
const struct mt_limit *mt_budget_relative(const struct mt_budget *budget);

/* Propose a budget from good runs, for memtap check and for editing. */

/* Write a budget that all runs satisfy: the highest figure of any device plus `headroom` hundredths
 * of a percent, in round numbers. n > 0. Return 0 or -ENOMEM. */
int mt_propose_budget(const struct mt_digest *runs, size_t n, uint64_t headroom, FILE *out);

#endif
