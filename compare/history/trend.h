/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A history's runs as series, and their changes.
 */
#ifndef MT_TREND_H
#define MT_TREND_H

#include "change-point.h"
#include "history.h"

/* Series that changed at one night, or with noise at two adjacent nights. */
struct mt_trend_step {
    size_t at;                          /* index of the first run after it */
    struct mt_step *of[MT_SERIES_ROOM]; /* NULL: not this one */
};

struct mt_trend {
    struct mt_runs runs;     /* runs that can be compared */
    struct mt_runs left_out; /* runs that are incomplete, lost events or allocated no memory */
    struct mt_changes changes[MT_SERIES_ROOM];
    struct mt_trend_step *step; /* by night */
    size_t n_steps;
};

/* Find the newest run that matches the filter, and the other matching runs of its program and
 * branch. Return 0, or -1 with store->error. Call mt_trend_clear in any case. */
int mt_trend_find(struct mt_trend *trend, struct mt_store *store,
                  const struct mt_run_filter *filter);
void mt_trend_clear(struct mt_trend *trend);

/* A call site whose size differs between two runs; names as in struct mt_digest_site. */
struct mt_site_change {
    char *category, *function, *file, *operator_name, *module;
    char *was; /* "net.py Net.forward": its likely name before; NULL: the same */
    uint32_t line;
    enum mt_certainty certainty; /* of the category, in the run in which it is least */
    uint64_t before, after;      /* bytes */
};
struct mt_site_changes {
    struct mt_site_change *site; /* by blame, as in struct mt_diff_device */
    size_t n;
};
/* Find at most `most` changes, by mt_diff_make. A history knows only a line's names and its blocks
 * at the peak. */
int mt_site_changes_find(struct mt_site_changes *changes, struct mt_store *store, int64_t before,
                         int64_t after, unsigned most);
void mt_site_changes_clear(struct mt_site_changes *changes);

/* Print a trend. Return 0, or -1 with store->error. The JSON function (schema memtap.trend/1) may
 * also return -EIO. */
int mt_trend_text(const struct mt_trend *trend, struct mt_store *store, FILE *out,
                  const struct mt_style *style);
int mt_trend_json(const struct mt_trend *trend, struct mt_store *store, FILE *out);

/* Texts of a run that may explain a change of its memory. */
extern const enum mt_run_text mt_run_causes[];
extern const size_t mt_run_causes_count;

#endif
