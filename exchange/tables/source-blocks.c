/* SPDX-License-Identifier: Apache-2.0 */
/* The table of blocks: a block as a row, the blocks that were live at a moment, and all blocks of a
 * run as they end (in a second pass, since only the whole trace numbers iterations). */
#include "analyzer/findings/analysis.h"
#include "analyzer/support/demangle.h"
#include "source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A block as a row of the table of blocks. */
struct mt_block_row {
    const struct mt_replay *replay;
    const struct mt_verdict *verdict;
    const struct mt_spans *spans;   /* with numbers */
    const struct mt_survey *survey; /* of the complete trace */
    bool of_cuda, has_end;
    uint64_t end_ns, end_event;
    const struct mt_device *at; /* the moment requested; NULL: the complete run */
};

/* Columns that are properties with a text. */
static const struct {
    unsigned column;
    enum mt_property property;
} named[] = {{MT_BLOCKS_CATEGORY, MT_BY_CATEGORY},   {MT_BLOCKS_RULE, MT_BY_RULE},
             {MT_BLOCKS_CERTAINTY, MT_BY_CERTAINTY}, {MT_BLOCKS_PHASE, MT_BY_PHASE},
             {MT_BLOCKS_FUNCTION, MT_BY_FUNCTION},   {MT_BLOCKS_FILE, MT_BY_FILE},
             {MT_BLOCKS_MODULE, MT_BY_MODULE},       {MT_BLOCKS_OPERATOR, MT_BY_OPERATOR},
             {MT_BLOCKS_DTYPE, MT_BY_DTYPE},         {MT_BLOCKS_NAME, MT_BY_NAME},
             {MT_BLOCKS_RANGE, MT_BY_RANGE}};

static void put_names(struct mt_columns *columns, const struct mt_block_row *row)
{
    const struct mt_naming naming = mt_replay_naming(row->replay);
    char room[MT_PROPERTY_TEXT];
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        uint32_t number = mt_property(&naming, named[i].property, row->verdict);
        if (!mt_columns_again(columns, named[i].column, number))
            mt_columns_name(columns, named[i].column, number,
                            mt_property_text(&naming, named[i].property, number, room));
    }
    const struct mt_definitions *d = naming.definitions;
    mt_columns_put_some(columns, MT_BLOCKS_LINE,
                        mt_frame(d, mt_property(&naming, MT_BY_FILE, row->verdict))->line);
}

static void put_made(struct mt_columns *columns, const struct mt_block_row *row)
{
    const struct mt_block *block = row->verdict->block;
    const struct mt_span *span =
        mt_spans_at(row->spans, block->birth->when.run, mt_block_event(block));
    mt_columns_put(columns, MT_BLOCKS_TIME_NS, (int64_t)mt_block_time(block));
    mt_columns_put(columns, MT_BLOCKS_EVENT, (int64_t)mt_block_event(block));
    if (row->has_end) {
        mt_columns_put(columns, MT_BLOCKS_END_NS, (int64_t)row->end_ns);
        mt_columns_put(columns, MT_BLOCKS_END_EVENT, (int64_t)row->end_event);
    }
    mt_columns_put(columns, MT_BLOCKS_THREAD, block->birth->thread);
    mt_columns_put_some(columns, MT_BLOCKS_ITERATION, span ? span->iteration : 0);
    mt_columns_put_some(columns, MT_BLOCKS_STACK, block->stack);
    mt_columns_put_some(columns, MT_BLOCKS_FORWARD_STACK, block->forward_stack);
}

/* Put when a block is used, where all work was seen and no other use is possible. */
static void put_uses(struct mt_columns *columns, const struct mt_block_row *row)
{
    const struct mt_replay *replay = row->replay;
    const struct mt_block *block = row->verdict->block;
    const struct mt_block_uses *uses =
        row->of_cuda ? mt_uses_find(&replay->uses_of_cuda, &replay->cuda.heap, block)
                     : mt_uses_find(&replay->uses_of_blocks, &replay->blocks, block);
    if (row->survey->kinds[MT_UNSEEN_WORK] || mt_survey_lost(row->survey) ||
        !mt_uses_are_complete(uses, row->has_end ? row->end_ns : UINT64_MAX,
                              row->survey->kinds[MT_USE]))
        return;
    mt_columns_text(columns, MT_BLOCKS_USES,
                    uses->is_never       ? "never"
                    : uses->only_written ? "written"
                                         : "used");
    if (uses->is_never)
        return;
    mt_columns_put(columns, MT_BLOCKS_FIRST_USE_NS, (int64_t)uses->first.time_ns);
    mt_columns_put(columns, MT_BLOCKS_LAST_USE_NS, (int64_t)uses->last.time_ns);
    mt_columns_put_some(columns, MT_BLOCKS_LAST_USE_STACK, uses->last.stack);
    if (!mt_columns_again(columns, MT_BLOCKS_LAST_USE_KERNEL, uses->last.name)) {
        char *name = uses->last.name
                         ? mt_function_name(mt_string(replay->definitions, uses->last.name))
                         : NULL;
        mt_columns_name(columns, MT_BLOCKS_LAST_USE_KERNEL, uses->last.name, name);
        free(name);
    }
}

static void put_block(const struct mt_rows *rows, struct mt_columns *columns,
                      const struct mt_block_row *row)
{
    const struct mt_block *block = row->verdict->block;
    if (!mt_columns_row(columns))
        return;
    mt_rows_put_rank(rows, columns, MT_BLOCKS_RANK);
    mt_rows_put_device(columns, MT_BLOCKS_DEVICE, block->device);
    mt_rows_put_level(columns, MT_BLOCKS_LEVEL, row->of_cuda);
    mt_columns_put(columns, MT_BLOCKS_ADDRESS, (int64_t)block->address);
    mt_columns_put(columns, MT_BLOCKS_SIZE, (int64_t)block->size);
    put_made(columns, row);
    put_names(columns, row);
    put_uses(columns, row);
    if (row->at)
        mt_columns_put(columns, MT_BLOCKS_AGE_NS, (int64_t)mt_block_age(row->at, block));
}

static int by_address(const void *address, const void *verdict)
{
    uint64_t one = *(const uint64_t *)address;
    uint64_t other = ((const struct mt_verdict *)verdict)->block->address;
    return (one > other) - (one < other);
}

/* Return the place of the device's verdict on a block; n_verdicts: it has none. */
static size_t place_of(const struct mt_device *device, const struct mt_block *block)
{
    const struct mt_verdict *found = NULL;
    if (device->n_verdicts)
        found = bsearch(&block->address, device->verdicts, device->n_verdicts,
                        sizeof *device->verdicts, by_address);
    return found && found->block == block ? (size_t)(found - device->verdicts) : device->n_verdicts;
}

/* Find each verdict's end, by way of the records, whose numbers a kept block does not know. 0 or
 * -ENOMEM. */
static int begin_device(struct mt_moment_rows *self, const struct mt_device *device)
{
    const struct mt_replay *replay = &self->analyzed->analysis.replay;
    const struct mt_heap *heap = device->of_cuda ? &replay->cuda.heap : &replay->blocks;
    const struct mt_block_ends *ends = &self->analyzed->ends[device->of_cuda];
    free(self->end_of);
    free(self->shown);
    self->end_of = calloc(device->n_verdicts + 1, sizeof *self->end_of);
    self->shown =
        mt_filtered_rows(device, &replay->question.filter, replay->definitions, &self->n_shown);
    if (!self->end_of || !self->shown)
        return -ENOMEM;
    for (uint32_t i = 1; i < heap->n_records && i < ends->capacity; i++) {
        const struct mt_block *block = mt_heap_record(heap, i);
        if (mt_heap_is_remembered(heap, block))
            self->end_of[place_of(device, block)] = ends->end[i];
    }
    return 0;
}

int mt_put_blocks(struct mt_moment_rows *self, struct mt_columns *columns)
{
    for (; self->device < self->analyzed->analysis.n_devices; self->device++, self->next = 0) {
        const struct mt_device *device = &self->analyzed->analysis.devices[self->device];
        if (!self->next && begin_device(self, device))
            return -ENOMEM;
        for (; self->next < self->n_shown; self->next++) {
            if (mt_columns_are_full(columns))
                return 1;
            const struct mt_verdict *verdict = &self->shown[self->next];
            const struct mt_block_end *end = &self->end_of[place_of(device, verdict->block)];
            put_block(&self->rows, columns,
                      &(struct mt_block_row){.replay = &self->analyzed->analysis.replay,
                                             .verdict = verdict,
                                             .spans = device->spans,
                                             .survey = &self->analyzed->analysis.replay.survey,
                                             .of_cuda = device->of_cuda,
                                             .at = device,
                                             .has_end = end->event != 0,
                                             .end_ns = end->time_ns,
                                             .end_event = end->event});
        }
    }
    return 0;
}

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
                     const struct mt_rule *rule, bool at_end)
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
    put_block(&self->rows, self->columns,
              &(struct mt_block_row){.replay = replay,
                                     .verdict = &(struct mt_verdict){block, rule},
                                     .spans = &self->whole.spans[slot],
                                     .survey = &self->whole.survey,
                                     .of_cuda = of_cuda,
                                     .has_end = !at_end,
                                     .end_ns = replay->time_ns,
                                     .end_event = replay->events});
}

static int begin(struct life_rows *self, struct mt_trace_error *error)
{
    struct mt_question question = self->rows.query->question;
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
