/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of blocks. */
#include "analyzer/classify/modules.h"
#include "analyzer/findings/filtered.h"
#include "analyzer/model/user-line.h"
#include "rows-parts.h"

#include <errno.h>
#include <stdlib.h>

static uint32_t iteration_of(const struct mt_rows *rows, const struct mt_block *block)
{
    const struct mt_spans *spans = &rows->replay.spans[mt_device_slot(block->device)];
    const struct mt_span *span = mt_spans_at(spans, block->birth->when.run);
    return span ? span->iteration : 0;
}

/* The user's line behind a block. */
static void put_line(const struct mt_rows *rows, const struct mt_block *block, struct mt_row *row)
{
    const struct mt_definitions *d = rows->replay.definitions;
    uint32_t frame = mt_stack(d, mt_line_stack(d, block))->frame, line = mt_frame(d, frame)->line;
    mt_row_put_text(rows, row, MT_BLOCKS_FUNCTION, MT_DICTIONARY_FUNCTION, frame);
    mt_row_put_text(rows, row, MT_BLOCKS_FILE, MT_DICTIONARY_FILE, frame);
    mt_row_put(row, MT_BLOCKS_LINE, line, line > 0);
}

void mt_rows_block(const struct mt_rows *rows, const struct mt_verdict *verdict, uint64_t end_ns,
                   uint64_t end_event, bool of_cuda, struct mt_row *row)
{
    const struct mt_definitions *d = rows->replay.definitions;
    const struct mt_block *block = verdict->block;
    const struct mt_rule *rule = verdict->rule;
    uint32_t iteration = iteration_of(rows, block);
    row->nulls = 0;
    mt_row_put(row, MT_BLOCKS_RANK, rows->rank, rows->rank >= 0);
    mt_row_put(row, MT_BLOCKS_DEVICE, block->device, block->device != MT_NO_DEVICE);
    mt_row_put_text(rows, row, MT_BLOCKS_LEVEL, MT_DICTIONARY_LEVEL, of_cuda);
    mt_row_put(row, MT_BLOCKS_ADDRESS, (int64_t)block->address, true);
    mt_row_put(row, MT_BLOCKS_SIZE, (int64_t)block->size, true);
    mt_row_put_text(rows, row, MT_BLOCKS_CATEGORY, MT_DICTIONARY_CATEGORY, rule->category);
    mt_row_put_text(rows, row, MT_BLOCKS_RULE, MT_DICTIONARY_RULE,
                    (uint32_t)mt_rule_index(rows->question.rules, rule));
    mt_row_put_text(rows, row, MT_BLOCKS_CERTAINTY, MT_DICTIONARY_CERTAINTY, rule->certainty);
    mt_row_put(row, MT_BLOCKS_TIME_NS, (int64_t)mt_block_time(block), true);
    mt_row_put(row, MT_BLOCKS_END_NS, (int64_t)end_ns, end_event > 0);
    mt_row_put(row, MT_BLOCKS_EVENT, (int64_t)mt_block_event(block), true);
    mt_row_put(row, MT_BLOCKS_END_EVENT, (int64_t)end_event, end_event > 0);
    mt_row_put(row, MT_BLOCKS_THREAD, block->birth->thread, true);
    mt_row_put_text(rows, row, MT_BLOCKS_PHASE, MT_DICTIONARY_PHASE, block->birth->when.phase);
    mt_row_put(row, MT_BLOCKS_ITERATION, iteration, iteration > 0);
    mt_row_put(row, MT_BLOCKS_STACK, block->stack, block->stack > 0);
    mt_row_put(row, MT_BLOCKS_FORWARD_STACK, block->forward_stack, block->forward_stack > 0);
    put_line(rows, block, row);
    mt_row_put_text(rows, row, MT_BLOCKS_MODULE, MT_DICTIONARY_MODULE, mt_block_module(d, verdict));
    mt_row_put_text(rows, row, MT_BLOCKS_OPERATOR, MT_DICTIONARY_OPERATOR, block->node_name);
    mt_row_put_text(rows, row, MT_BLOCKS_DTYPE, MT_DICTIONARY_DTYPE, block->dtype);
    mt_row_put_text(rows, row, MT_BLOCKS_NAME, MT_DICTIONARY_NAME, block->name);
    mt_row_put_text(rows, row, MT_BLOCKS_RANGE, MT_DICTIONARY_RANGE, block->range);
    mt_row_put(row, MT_BLOCKS_AGE_NS, 0, false);
}

/* When a block ended; event 0: the trace ends before it. */
struct end {
    uint64_t time_ns, event;
};

/* A second reading. */
struct pass {
    const struct mt_rows *rows;
    mt_row_taker *take;
    void *data;
    const struct mt_address_map *live; /* event -> place in `ends` + 1; NULL: every block */
    struct end *ends;
    int rc;
};

static bool is_listed(const struct mt_rows *rows, const struct mt_replay *replay,
                      const struct mt_block *block)
{
    unsigned slot = mt_device_slot(block->device);
    return mt_rows_has_device(rows, block->device) &&
           (replay->now[slot].event || mt_rows_is_of_cuda(rows, block));
}

static void end_row(void *data, const struct mt_replay *replay, const struct mt_block *block,
                    const struct mt_rule *rule, int at_end)
{
    struct pass *pass = data;
    const struct mt_verdict verdict = {block, rule};
    struct mt_row row;
    if (pass->rc || !is_listed(pass->rows, replay, block))
        return;
    if (pass->live) {
        uint32_t place = mt_address_map_get(pass->live, mt_block_event(block));
        if (place)
            pass->ends[place - 1] =
                at_end ? (struct end){0} : (struct end){replay->time_ns, replay->events};
        return;
    }
    mt_rows_block(pass->rows, &verdict, replay->time_ns, at_end ? 0 : replay->events,
                  mt_rows_is_of_cuda(pass->rows, block), &row);
    pass->rc = pass->take(pass->data, &row);
}

/* Ends the pass as soon as nobody takes rows any more. */
static int stop(void *data, const struct mt_replay *replay, const struct mt_event *event)
{
    (void)replay;
    (void)event;
    return ((struct pass *)data)->rc ? -ECANCELED : 0;
}

static int read_blocks(struct pass *pass, struct mt_trace_error *fault)
{
    struct mt_question question = pass->rows->question;
    const struct mt_life_watcher lives = {end_row, pass};
    const struct mt_watcher watcher = {stop, pass};
    struct mt_replay *replay = calloc(1, sizeof *replay);
    if (!replay)
        return -ENOMEM;
    question.lives = &lives;
    question.watcher = &watcher;
    int rc = mt_replay(pass->rows->path, &question, replay, fault);
    mt_replay_clear(replay);
    free(replay);
    return pass->rc ? pass->rc : rc;
}

int mt_rows_read_blocks(struct mt_rows *rows, mt_row_taker *take, void *data,
                        struct mt_trace_error *fault)
{
    struct pass pass = {.rows = rows, .take = take, .data = data};
    return read_blocks(&pass, fault);
}

/* The blocks of a device that are asked for. */
struct listed {
    struct mt_verdict *verdict;
    size_t n;
};

static int list_blocks(struct listed *listed, const struct mt_analysis *analysis,
                       struct mt_address_map *live, size_t *n)
{
    int rc = 0;
    for (size_t i = 0; i < analysis->n_devices && !rc; i++) {
        listed[i].verdict =
            mt_filtered_rows(&analysis->devices[i], &analysis->replay.question.filter,
                             analysis->replay.definitions, &listed[i].n);
        rc = listed[i].verdict ? 0 : -ENOMEM;
        for (size_t j = 0; j < listed[i].n && !rc; j++)
            rc = mt_address_map_put(live, mt_block_event(listed[i].verdict[j].block),
                                    (uint32_t)++ * n);
    }
    return rc;
}

static int take_live(const struct pass *pass, const struct mt_analysis *analysis,
                     const struct listed *listed)
{
    const struct end *end = pass->ends;
    int rc = 0;
    for (size_t i = 0; i < analysis->n_devices && !rc; i++)
        for (size_t j = 0; j < listed[i].n && !rc; j++, end++) {
            const struct mt_device *device = &analysis->devices[i];
            const struct mt_verdict *verdict = &listed[i].verdict[j];
            struct mt_row row;
            mt_rows_block(pass->rows, verdict, end->time_ns, end->event, device->of_cuda, &row);
            mt_row_put(&row, MT_BLOCKS_AGE_NS, (int64_t)mt_block_age(device, verdict->block), true);
            rc = pass->take(pass->data, &row);
        }
    return rc;
}

int mt_rows_live(struct mt_rows *rows, const struct mt_analysis *analysis, mt_row_taker *take,
                 void *data, struct mt_trace_error *fault)
{
    struct mt_address_map live = {0};
    size_t n = 0;
    struct listed *listed = calloc(analysis->n_devices + 1, sizeof *listed);
    int rc = listed ? list_blocks(listed, analysis, &live, &n) : -ENOMEM;
    struct pass pass = {rows, take, data, &live, calloc(n + 1, sizeof(struct end)), 0};
    if (!rc)
        rc = pass.ends ? read_blocks(&pass, fault) : -ENOMEM;
    if (!rc)
        rc = take_live(&pass, analysis, listed);
    for (size_t i = 0; listed && i < analysis->n_devices; i++)
        free(listed[i].verdict);
    free(listed);
    free(pass.ends);
    mt_address_map_clear(&live);
    return rc;
}
