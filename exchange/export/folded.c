/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks, for flame graphs: those of memtap stacks, of several traces each below its rank.
 */
#include "analyzer/findings/job.h"
#include "analyzer/report/stacks.h"
#include "shares.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct folding {
    struct mt_sink *sink;
    size_t n; /* traces so far */
    bool is_alone;
};

static void put_lines(const struct folding *folding, const char *text, long rank)
{
    char before[64] = "";
    if (!folding->is_alone && rank >= 0)
        snprintf(before, sizeof before, "rank %ld;", rank);
    else if (!folding->is_alone)
        snprintf(before, sizeof before, "trace %zu;", folding->n);
    for (const char *end; *text; text = end) {
        end = strchr(text, '\n') + 1; /* each line has one */
        mt_sink_text(folding->sink, before);
        mt_sink_put(folding->sink, text, (size_t)(end - text));
    }
}

static int fold(void *data, const struct mt_analysis *analysis, const char *path)
{
    struct folding *folding = data;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    (void)path;
    int rc = out ? mt_stacks_folded(analysis, out) : -ENOMEM;
    if (out && fclose(out) && !rc)
        rc = -ENOMEM;
    folding->n++;
    if (!rc)
        put_lines(folding, text, mt_rank(analysis));
    free(text);
    return rc;
}

int mt_export_folded(const struct mt_export *export, struct mt_sink *sink,
                     struct mt_export_error *error)
{
    struct folding folding = {.sink = sink, .is_alone = export->n_paths == 1};
    return mt_export_each(export, fold, &folding, error);
}
