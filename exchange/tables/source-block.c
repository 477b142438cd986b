/* SPDX-License-Identifier: Apache-2.0 */
#include "source.h"

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
    const struct mt_span *span = mt_spans_at(row->spans, block->birth->when.run);
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

void mt_rows_put_block(const struct mt_rows *rows, struct mt_columns *columns,
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
    if (row->at)
        mt_columns_put(columns, MT_BLOCKS_AGE_NS, (int64_t)mt_block_age(row->at, block));
}
