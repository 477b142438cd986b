/* SPDX-License-Identifier: Apache-2.0 */
/* Every block that there was, when it ends: in a second pass, since only the whole trace numbers
 * iterations. */
#include "analyzer/replay/replay-parts.h"
#include "source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct life_rows {
    struct mt_rows rows;
    struct mt_replay whole; /* the first pass: its spans are numbered */
    struct mt_replay replay;
    struct mt_reader *reader;
    struct mt_life_watcher watcher;
    struct mt_columns *columns; /* that are filled now */
    bool is_begun, has_ended;
};

static void put_life(void *data, const struct mt_replay *replay, const struct mt_block *block,
                     const struct mt_rule *rule, int at_end)
{
    struct life_rows *self = data;
    unsigned slot = mt_device_slot(block->device);
    bool of_cuda = mt_replay_is_of_cuda(replay, slot);
    if (of_cuda && !mt_replay_is_of_cuda(&self->whole, slot))
        return; /* before PyTorch began to use the device: no block, but a segment of its */
    uint64_t to_ns = at_end ? UINT64_MAX : replay->time_ns;
    if (!mt_rows_have_device(&self->rows, block->device) ||
        !mt_rows_have_time(&self->rows, mt_block_time(block), to_ns))
        return;
    mt_rows_put_block(&self->rows, self->columns,
                      &(struct mt_block_row){.replay = replay,
                                             .verdict = &(struct mt_verdict){block, rule},
                                             .spans = &self->whole.spans[slot],
                                             .of_cuda = of_cuda,
                                             .has_end = !at_end,
                                             .end_ns = replay->time_ns,
                                             .end_event = replay->events});
}

static int begin(struct life_rows *self, struct mt_trace_error *error)
{
    struct mt_question question = self->rows.asked->question;
    question.moment = (struct mt_moment){MT_AT_END, 0};
    int rc = mt_replay(self->rows.path, &question, &self->whole, error);
    if (rc)
        return rc;
    mt_rows_take_rank(&self->rows, self->whole.definitions);
    self->watcher = (struct mt_life_watcher){.ended = put_life, .data = self};
    question.lives = &self->watcher;
    rc = mt_reader_open(&self->reader, self->rows.path, error);
    return rc ? rc : mt_replay_begin(&self->replay, self->rows.path, &question);
}

static int fill(struct mt_rows *rows, struct mt_columns *columns, struct mt_trace_error *error)
{
    struct life_rows *self = (struct life_rows *)rows;
    struct mt_batch batch;
    int rc = self->is_begun ? 0 : begin(self, error);
    self->is_begun = true;
    self->columns = columns;
    while (!rc && !self->has_ended && !mt_columns_are_full(columns)) {
        int more = mt_reader_next(self->reader, &batch, error);
        if (more > 0)
            rc = mt_replay_batch(&self->replay, &batch);
        else if (more == 0 || error->fault > MT_FAULT_SYSTEM)
            rc = mt_replay_end(&self->replay);
        else
            rc = more;
        self->has_ended = more <= 0;
    }
    if (rc || columns->lacks_memory)
        return rc ? rc : -ENOMEM;
    return !self->has_ended ? 1 : error->fault ? -EBADMSG : 0;
}

static void close_lives(struct mt_rows *rows)
{
    struct life_rows *self = (struct life_rows *)rows;
    mt_reader_close(self->reader);
    mt_replay_clear(&self->replay);
    mt_replay_clear(&self->whole);
    free(self);
}

int mt_rows_lives(struct mt_rows **out, const char *path, struct mt_trace_error *error)
{
    struct life_rows *self = calloc(1, sizeof *self);
    (void)path, (void)error;
    if (!self)
        return -ENOMEM;
    self->rows = (struct mt_rows){.fill = fill, .close = close_lives};
    *out = &self->rows;
    return 0;
}
