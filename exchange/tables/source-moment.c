/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a moment, and what else an analysis has when it is done. */
#include "analyzer/support/grow.h"
#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Note the end of a block that the moment may remember: each record of a heap has its last one's.
 */
static void note_end(void *data, const struct mt_replay *replay, const struct mt_block *block,
                     const struct mt_rule *rule, bool at_end)
{
    struct mt_analyzed *self = data;
    bool of_cuda = mt_replay_is_of_cuda(replay, mt_device_slot(block->device));
    struct mt_block_ends *ends = &self->ends[of_cuda];
    size_t index = mt_heap_index(of_cuda ? &replay->cuda.heap : &replay->blocks, block);
    (void)rule;
    if (MT_GROW(ends->end, ends->capacity, index)) {
        self->lacks_memory = true;
        return;
    }
    ends->end[index] =
        at_end ? (struct mt_block_end){0} : (struct mt_block_end){replay->time_ns, replay->events};
}

struct mt_analyzed *mt_analyzed_make(bool has_ends)
{
    struct mt_analyzed *self = calloc(1, sizeof *self);
    if (self)
        *self = (struct mt_analyzed){.users = 1, .has_ends = has_ends};
    return self;
}

void mt_analyzed_drop(struct mt_analyzed *self)
{
    if (!self || --self->users)
        return;
    mt_analysis_destroy(&self->analysis);
    for (unsigned i = 0; i < 2; i++)
        free(self->ends[i].end);
    free(self);
}

static int analyze(struct mt_analyzed *self, const struct mt_rows *rows,
                   struct mt_trace_error *error)
{
    struct mt_question question = rows->query->question;
    self->watcher = (struct mt_life_watcher){.ended = note_end, .data = self};
    if (self->has_ends)
        question.lives = &self->watcher;
    int rc = mt_analysis_create(&self->analysis, rows->path, &question);
    *error = self->analysis.fault;
    if (rc || self->lacks_memory)
        return rc ? rc : -ENOMEM;
    self->is_done = true;
    return 0;
}

/* Take the analysis that the asker shares, or make one's own, done. 0 or a negative errno. */
static int begin(struct mt_moment_rows *self, struct mt_trace_error *error)
{
    const struct mt_rows_query *query = self->rows.query;
    struct mt_analyzed *analyzed =
        query->analyzed ?: mt_analyzed_make(query->table == MT_TABLE_BLOCKS);
    if (!analyzed)
        return -ENOMEM;
    analyzed->users += analyzed == query->analyzed;
    self->analyzed = analyzed;
    int rc = analyzed->is_done ? 0 : analyze(analyzed, &self->rows, error);
    char why[MT_NO_MOMENT];
    if (!rc && mt_no_moment_text(&analyzed->analysis, why)) {
        snprintf(error->text, sizeof error->text, "%s", why);
        error->fault = MT_FAULT_SYSTEM;
        return -ENOENT;
    }
    if (!rc)
        mt_rows_take_rank(&self->rows, analyzed->analysis.replay.definitions);
    return rc;
}

static int fill(struct mt_rows *rows, struct mt_columns *columns, struct mt_trace_error *error)
{
    struct mt_moment_rows *self = (struct mt_moment_rows *)rows;
    int rc = self->analyzed ? 0 : begin(self, error);
    if (rc)
        return rc;
    rc = self->put(self, columns);
    if (rc || columns->lacks_memory)
        return columns->lacks_memory ? -ENOMEM : rc;
    *error = self->analyzed->analysis.fault;
    return error->fault ? -EBADMSG : 0;
}

static void close_moment(struct mt_rows *rows)
{
    struct mt_moment_rows *self = (struct mt_moment_rows *)rows;
    mt_analyzed_drop(self->analyzed);
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
