/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A budget: what a run may take at most, as memtap-budget(5) has it.
 */
#ifndef MT_BUDGET_H
#define MT_BUDGET_H

#include "nightly/digest/amount.h"

#include <stdbool.h>
#include <stddef.h>

/* What of a run is limited; the first ones are of the whole run. */
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
    MT_OF_ENDED, /* not in a budget: mt_ended_limit */
};

struct mt_limit {
    enum mt_subject subject;
    char *name;     /* "peak", "category.activations", "site.net.py:*" */
    char *pattern;  /* of modules and call sites */
    int of_each;    /* of every module, every call site: pattern is none */
    unsigned index; /* enum mt_category, enum mt_phase */
    struct mt_amount most;
    char *text;            /* most, as it was written */
    unsigned line, column; /* of the key */
};

/* More for one limit, up to and including a day. */
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
    char *path;                /* "": memtap's own */
    struct mt_amount ignore;   /* what relative limits let pass in any case */
    struct mt_limit *limit;    /* in the order of the file */
    size_t n_limits, capacity; /* of limit */
    struct mt_allowance *allowance;
    size_t n_allowances;
};

struct mt_budget_error {
    unsigned line, column; /* from 1; 0: of the whole file */
    char text[700];        /* what is wrong, and what was expected */
};

/* Reads a file, or a text of so many bytes (path is for messages). 0, or a negative errno with
 * *error filled (-ENOMEM: not). Cleared with mt_budget_clear in any case. */
int mt_budget_read(struct mt_budget *budget, const char *path, struct mt_budget_error *error);
int mt_budget_parse(struct mt_budget *budget, const char *path, const char *text, size_t size,
                    struct mt_budget_error *error);
void mt_budget_clear(struct mt_budget *budget);

/* What is held to where a baseline is given and no budget. */
extern const char mt_budget_default[];

/* From a day on, allowances that ended before have expired. */
void mt_budget_set_today(struct mt_budget *budget, int year, int month, int day);

/* The first limit that is relative to a baseline; NULL: none is. */
const struct mt_limit *mt_budget_relative(const struct mt_budget *budget);

/* A phase's name in budgets: "forward". */
const char *mt_budget_phase_name(unsigned phase);

#endif
