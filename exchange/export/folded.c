/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks, for flame graphs: those of memtap stacks; for several traces, each below its rank.
 */
#include "analyzer/findings/job.h"
#include "analyzer/report/report.h"
#include "shares.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct folding {
    struct mt_sink *sink;
    char before[64]; /* each line of the trace */
    bool is_in_line;
    size_t n; /* traces so far */
    bool is_alone;
};

static void begin(struct folding *folding, long rank)
{
    *folding->before = '\0';
    if (!folding->is_alone && rank >= 0)
        snprintf(folding->before, sizeof folding->before, "rank %ld;", rank);
    else if (!folding->is_alone)
        snprintf(folding->before, sizeof folding->before, "trace %zu;", folding->n);
}

static ssize_t put(void *cookie, const char *bytes, size_t size)
{
    struct folding *folding = cookie;
    for (size_t done = 0; done < size;) {
        const char *end = memchr(bytes + done, '\n', size - done);
        size_t n = (end ? (size_t)(end - bytes) + 1 : size) - done;
        if (!folding->is_in_line)
            mt_sink_text(folding->sink, folding->before);
        mt_sink_put(folding->sink, bytes + done, n);
        folding->is_in_line = !end;
        done += n;
    }
    errno = -folding->sink->rc;
    return folding->sink->rc ? 0 : (ssize_t)size;
}

static int fold(void *data, const struct mt_analysis *analysis, const char *path)
{
    struct folding *folding = data;
    FILE *out = fopencookie(folding, "w", (cookie_io_functions_t){.write = put});
    (void)path;
    folding->n++;
    begin(folding, mt_rank(analysis));
    int rc = out ? mt_stacks_folded(analysis, out) : -ENOMEM;
    if (out)
        fclose(out); /* the sink keeps the error */
    return rc;
}

int mt_export_folded(const struct mt_export *export, struct mt_sink *sink,
                     struct mt_export_error *error)
{
    struct folding folding = {.sink = sink, .is_alone = export->n_paths == 1};
    return mt_export_each(export, fold, &folding, error);
}
