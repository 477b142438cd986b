/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two sides of runs, as memtap diff does. An instance of the analyzer compares once: the
 * page discards it afterwards.
 */
#include "analyzer/support/grow.h"
#include "compare/diff/diff-report.h"
#include "compare/history/read-all.h"
#include "export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct mt_digest *runs; /* the old ones first */
    size_t n, capacity;
    struct mt_diff diff;
    struct mt_trace_error fault;
    char *text;
} comparison;

/* Read a run. Return 0 or a negative errno. `difference_fault` says why, unless it is empty. */
EXPORT("difference_add") int mt_web_difference_add(const char *path)
{
    const struct mt_question question = {0};
    if (MT_GROW(comparison.runs, comparison.capacity, comparison.n))
        return -ENOMEM;
    return mt_digest_query(&comparison.runs[comparison.n++], path, &question, &comparison.fault);
}

EXPORT("difference_fault") const char *mt_web_difference_fault(void)
{
    return comparison.fault.text;
}

/* Compare the first n_old runs with the others. Return memtap diff's JSON as an object. NULL: no
 * memory. */
EXPORT("difference") json_t *mt_web_difference(size_t n_old)
{
    const struct mt_question question = {0};
    size_t n_new = comparison.n - n_old;
    int rc = mt_diff_runs(&comparison.diff, comparison.runs, n_old, n_new, &question);
    return rc ? NULL : mt_diff_object(&comparison.diff);
}

/* Then return memtap diff's text. */
EXPORT("difference_text") const char *mt_web_difference_text(void)
{
    const struct mt_style style = {.utf8 = 1};
    size_t size;
    FILE *out = open_memstream(&comparison.text, &size);
    if (!out)
        return "";
    mt_diff_text(&comparison.diff, out, &style);
    fclose(out);
    return comparison.text ? comparison.text : "";
}
