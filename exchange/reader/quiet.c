/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the analyzer does in the command and not in a library: no line on the terminal while a trace
 * is read, no look into the files of native frames (elfutils is no part of this library; memtap
 * symbolize writes their names into the trace). Weak, so that these stand in for the analyzer's
 * own, which are then not linked.
 */
#include "analyzer/support/progress.h"
#include "analyzer/trace/symbols.h"

#include <errno.h>
#include <stdlib.h>

#define STANDS_IN __attribute__((weak))

STANDS_IN void mt_progress_begin(struct mt_progress *progress)
{
    (void)progress;
}

STANDS_IN void mt_progress_reach(struct mt_progress *progress, const struct mt_batch *batch)
{
    (void)progress, (void)batch;
}

STANDS_IN void mt_progress_end(struct mt_progress *progress)
{
    (void)progress;
}

STANDS_IN struct mt_symbols *mt_symbols_create(void)
{
    return malloc(1);
}

STANDS_IN void mt_symbols_destroy(struct mt_symbols *symbols)
{
    free(symbols);
}

STANDS_IN int mt_symbols_find(struct mt_symbols *symbols, struct mt_trace_image image,
                              uint64_t address, struct mt_symbol *out)
{
    (void)symbols, (void)image, (void)address, (void)out;
    return -ENOENT;
}
