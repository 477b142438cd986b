/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outputs of a comparison, one file each.
 */
#ifndef MT_DIFF_REPORT_H
#define MT_DIFF_REPORT_H

#include <stdbool.h>

#include "analyzer/print/json.h"
#include "diff-words.h"

/* Print as text, at most 80 columns wide; as Markdown. Return 0 or -ENOMEM. */
int mt_diff_text(const struct mt_diff *diff, FILE *out, const struct mt_style *style);
int mt_diff_markdown(const struct mt_diff *diff, FILE *out);

/* Make schema memtap.diff/1 (memtap-diff-json(5)): return a new object (NULL: no memory); print it
 * (return 0, -ENOMEM or -EIO). */
json_t *mt_diff_object(const struct mt_diff *diff);
int mt_diff_json(const struct mt_diff *diff, FILE *out);

/* Return {function, file, line}; null for NULL. */
json_t *mt_diff_saver_json(const struct mt_digest_saver *saver);

/* Print a line "category;outermost frame;...;innermost frame OLD NEW" for each stack of all
 * devices. */
void mt_diff_flame(const struct mt_diff *diff, FILE *out);

/* Return whether to show a site: it has changed or was renamed, and is not one of many that changed
 * with the batch. */
bool mt_diff_is_shown(const struct mt_diff_site *site);

/* Fill in the rows of a device's table of totals, at most MT_DIFF_TOTALS. Return how many. */
struct mt_diff_total {
    const char *name, *label; /* name: JSON's */
    const struct mt_change *change;
    unsigned colour;     /* 0: none */
    bool begins_section; /* of totals, categories, phases */
    enum mt_certainty certainty;
};
#define MT_DIFF_TOTALS (6u + MT_CATEGORY_ROOM + MT_PHASE_COUNT)
size_t mt_diff_totals(struct mt_diff_total *totals, const struct mt_diff_device *device);

#endif
