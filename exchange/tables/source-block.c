/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/classify/modules.h"
#include "analyzer/model/user-line.h"
#include "analyzer/support/demangle.h"
#include "source.h"
#include "trace-format/dtypes.h"

#define TEXT 1024u /* bytes of a text that is put together */

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
    mt_rows_put_phase(columns, MT_BLOCKS_PHASE, block->birth->when.phase);
    mt_columns_put_some(columns, MT_BLOCKS_ITERATION, span ? span->iteration : 0);
    mt_columns_put_some(columns, MT_BLOCKS_STACK, block->stack);
    mt_columns_put_some(columns, MT_BLOCKS_FORWARD_STACK, block->forward_stack);
}

static void put_names(struct mt_columns *columns, const struct mt_block_row *row)
{
    char text[TEXT];
    const struct mt_definitions *d = row->replay->definitions;
    const struct mt_block *block = row->verdict->block;
    uint32_t module = mt_block_module(d, row->verdict);
    mt_rows_put_frame(columns, MT_BLOCKS_FUNCTION, d, mt_stack(d, mt_line_stack(d, block))->frame);
    if (!mt_columns_again(columns, MT_BLOCKS_MODULE, module))
        mt_columns_name(columns, MT_BLOCKS_MODULE, module, mt_stack_module(d, module));
    if (block->node_name && !mt_columns_again(columns, MT_BLOCKS_OPERATOR, block->node_name)) {
        mt_short_type_name(mt_string(d, block->node_name), text, sizeof text);
        mt_columns_name(columns, MT_BLOCKS_OPERATOR, block->node_name, text);
    }
    if (block->dtype && !mt_columns_again(columns, MT_BLOCKS_DTYPE, block->dtype))
        mt_columns_name(columns, MT_BLOCKS_DTYPE, block->dtype, mt_dtype_name(block->dtype));
    if (block->name && !mt_columns_again(columns, MT_BLOCKS_NAME, block->name))
        mt_columns_name(columns, MT_BLOCKS_NAME, block->name, mt_string(d, block->name));
    if (block->range && !mt_columns_again(columns, MT_BLOCKS_RANGE, block->range)) {
        mt_range_text(text, sizeof text, d, &row->replay->tracker.ranges, block->range);
        mt_columns_name(columns, MT_BLOCKS_RANGE, block->range, text);
    }
}

void mt_rows_put_block(const struct mt_rows *rows, struct mt_columns *columns,
                       const struct mt_block_row *row)
{
    const struct mt_block *block = row->verdict->block;
    const struct mt_rule *rule = row->verdict->rule;
    if (!mt_columns_row(columns))
        return;
    mt_rows_put_rank(rows, columns, MT_BLOCKS_RANK);
    mt_rows_put_device(columns, MT_BLOCKS_DEVICE, block->device);
    mt_rows_put_level(columns, MT_BLOCKS_LEVEL, row->of_cuda);
    mt_columns_put(columns, MT_BLOCKS_ADDRESS, (int64_t)block->address);
    mt_columns_put(columns, MT_BLOCKS_SIZE, (int64_t)block->size);
    mt_rows_put_category(columns, MT_BLOCKS_CATEGORY, rule->category);
    uint32_t number = (uint32_t)mt_rule_index(row->replay->question.rules, rule);
    if (!mt_columns_again(columns, MT_BLOCKS_RULE, number))
        mt_columns_name(columns, MT_BLOCKS_RULE, number, rule->name);
    if (!mt_columns_again(columns, MT_BLOCKS_CERTAINTY, rule->certainty))
        mt_columns_name(columns, MT_BLOCKS_CERTAINTY, rule->certainty,
                        mt_certainty_name(rule->certainty));
    put_made(columns, row);
    put_names(columns, row);
    if (row->at)
        mt_columns_put(columns, MT_BLOCKS_AGE_NS, (int64_t)mt_block_age(row->at, block));
}
