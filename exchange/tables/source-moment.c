/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a moment, and what else an analysis has when it is done. */
#include "analyzer/replay/replay-parts.h"
#include "analyzer/support/grow.h"
#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The end of a block that the moment may remember: each record of a heap has its last one's. */
static void note_end(void *data, const struct mt_replay *replay, const struct mt_block *block,
                     const struct mt_rule *rule, int at_end)
{
    struct mt_moment_rows *self = data;
    bool of_cuda = mt_replay_is_of_cuda(replay, mt_device_slot(block->device));
    struct mt_block_ends *ends = &self->ends[of_cuda];
    size_t index = mt_heap_index(of_cuda ? &replay->cuda.heap : &replay->blocks, block);
    (void)rule;
    if (mt_grow(&ends->end, &ends->capacity, index + 1, sizeof *ends->end)) {
        self->lacks_memory = true;
        return;
    }
    ends->end[index] =
        at_end ? (struct mt_block_end){0} : (struct mt_block_end){replay->time_ns, replay->events};
}

static int analyze(struct mt_moment_rows *self, struct mt_trace_error *error)
{
    struct mt_question question = self->rows.asked->question;
    self->watcher = (struct mt_life_watcher){.ended = note_end, .data = self};
    if (self->rows.asked->table == MT_TABLE_BLOCKS)
        question.lives = &self->watcher;
    int rc = mt_analysis_create(&self->analysis, self->rows.path, &question);
    *error = self->analysis.fault;
    if (rc || self->lacks_memory)
        return rc ? rc : -ENOMEM;
    char why[MT_NO_MOMENT];
    if (mt_no_moment_text(&self->analysis, why)) {
        snprintf(error->text, sizeof error->text, "%s", why);
        error->fault = MT_FAULT_SYSTEM;
        return -ENOENT;
    }
    mt_rows_take_rank(&self->rows, self->analysis.replay.definitions);
    return 0;
}

static int fill(struct mt_rows *rows, struct mt_columns *columns, struct mt_trace_error *error)
{
    struct mt_moment_rows *self = (struct mt_moment_rows *)rows;
    int rc = self->is_analyzed ? 0 : analyze(self, error);
    if (rc)
        return rc;
    self->is_analyzed = true;
    rc = self->put(self, columns);
    if (rc || columns->lacks_memory)
        return columns->lacks_memory ? -ENOMEM : rc;
    *error = self->analysis.fault;
    return error->fault ? -EBADMSG : 0;
}

static void close_moment(struct mt_rows *rows)
{
    struct mt_moment_rows *self = (struct mt_moment_rows *)rows;
    mt_analysis_destroy(&self->analysis);
    for (unsigned i = 0; i < 2; i++)
        free(self->ends[i].end);
    free(self->end_of);
    free(self->shown);
    free(self);
}

int mt_moment_rows_make(struct mt_rows **out, mt_moment_put *put)
{
    struct mt_moment_rows *self = calloc(1, sizeof *self);
    if (!self)
        return -ENOMEM;
    self->rows = (struct mt_rows){.fill = fill, .close = close_moment};
    self->put = put;
    *out = &self->rows;
    return 0;
}
