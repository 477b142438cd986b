/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/classify/modules.h"
#include "analyzer/model/user-line.h"
#include "analyzer/support/demangle.h"
#include "source.h"
#include "trace-format/dtypes.h"

static void put_line(struct mt_columns *columns, const struct mt_definitions *definitions,
                     const struct mt_block *block)
{
    const struct mt_frame *frame = mt_line_frame(definitions, block);
    if (frame->function[0] == '?' && !frame->function[1])
        return;
    mt_columns_text(columns, MT_BLOCKS_FUNCTION, frame->function);
    mt_columns_text(columns, MT_BLOCKS_FILE, frame->file);
    if (frame->line)
        mt_columns_put(columns, MT_BLOCKS_LINE, frame->line);
}

static void put_made(struct mt_columns *columns, const struct mt_block_row *row)
{
    const struct mt_block *block = row->verdict->block;
    const struct mt_span *span = mt_spans_at(row->spans, block->birth->when.run);
    mt_columns_put(columns, MT_BLOCKS_TIME_NS, (int64_t)mt_block_time(block));
    mt_columns_put(columns, MT_BLOCKS_EVENT, (int64_t)mt_block_event(block));
    if (row->has_end) {
        mt_columns_put(columns, MT_BLOCKS_END_NS, (int64_t)row->end_ns);
        mt_columns_put(columns, MT_BLOCKS_END_EVENT, (int64_t)row->end_event);
    }
    mt_columns_put(columns, MT_BLOCKS_THREAD, block->birth->thread);
    mt_columns_text(columns, MT_BLOCKS_PHASE, mt_phase_names[block->birth->when.phase].name);
    if (span && span->iteration)
        mt_columns_put(columns, MT_BLOCKS_ITERATION, span->iteration);
    if (block->stack)
        mt_columns_put(columns, MT_BLOCKS_STACK, block->stack);
    if (block->forward_stack)
        mt_columns_put(columns, MT_BLOCKS_FORWARD_STACK, block->forward_stack);
}

static void put_names(struct mt_columns *columns, const struct mt_block_row *row)
{
    char text[1024];
    const struct mt_definitions *d = row->replay->definitions;
    const struct mt_block *block = row->verdict->block;
    put_line(columns, d, block);
    mt_columns_text(columns, MT_BLOCKS_MODULE,
                    mt_stack_module(d, mt_block_module(d, row->verdict)));
    if (block->node_name) {
        mt_short_type_name(mt_string(d, block->node_name), text, sizeof text);
        mt_columns_text(columns, MT_BLOCKS_OPERATOR, text);
    }
    if (block->dtype)
        mt_columns_text(columns, MT_BLOCKS_DTYPE, mt_dtype_name(block->dtype));
    if (block->name)
        mt_columns_text(columns, MT_BLOCKS_NAME, mt_string(d, block->name));
    if (block->range) {
        mt_range_text(text, sizeof text, d, &row->replay->tracker.ranges, block->range);
        mt_columns_text(columns, MT_BLOCKS_RANGE, text);
    }
}

void mt_row_source_put_block(const struct mt_row_source *rows, struct mt_columns *columns,
                             const struct mt_block_row *row)
{
    const struct mt_block *block = row->verdict->block;
    const struct mt_rule *rule = row->verdict->rule;
    if (!mt_columns_row(columns))
        return;
    mt_row_source_put_rank(rows, columns, MT_BLOCKS_RANK);
    if (block->device != MT_NO_DEVICE)
        mt_columns_put(columns, MT_BLOCKS_DEVICE, block->device);
    mt_columns_text(columns, MT_BLOCKS_LEVEL, row->of_cuda ? "cuda" : "pytorch");
    mt_columns_put(columns, MT_BLOCKS_ADDRESS, (int64_t)block->address);
    mt_columns_put(columns, MT_BLOCKS_SIZE, (int64_t)block->size);
    mt_columns_text(columns, MT_BLOCKS_CATEGORY, mt_categories[rule->category].name);
    mt_columns_text(columns, MT_BLOCKS_RULE, rule->name);
    mt_columns_text(columns, MT_BLOCKS_CERTAINTY, mt_certainty_name(rule->certainty));
    put_made(columns, row);
    put_names(columns, row);
    if (row->at)
        mt_columns_put(columns, MT_BLOCKS_AGE_NS, (int64_t)mt_block_age(row->at, block));
}
