/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"

#include <string.h>

#define COLUMN(id, name, type, has_nulls, unit, meaning)                                           \
    {name, MT_COLUMN_##type, has_nulls, unit, meaning},
static const struct mt_table_column blocks[] = {MT_BLOCKS_COLUMNS(COLUMN)};
static const struct mt_table_column events[] = {MT_EVENTS_COLUMNS(COLUMN)};
static const struct mt_table_column stacks[] = {MT_STACKS_COLUMNS(COLUMN)};
static const struct mt_table_column categories[] = {MT_CATEGORIES_COLUMNS(COLUMN)};
static const struct mt_table_column phases[] = {MT_PHASES_COLUMNS(COLUMN)};
static const struct mt_table_column ranks[] = {MT_RANKS_COLUMNS(COLUMN)};
static const struct mt_table_column samples[] = {MT_SAMPLES_COLUMNS(COLUMN)};
static const struct mt_table_column growth[] = {MT_GROWING_COLUMNS(COLUMN)};

_Static_assert(MT_BLOCKS_N <= MT_COLUMNS_MOST && MT_EVENTS_N <= MT_COLUMNS_MOST &&
                   MT_STACKS_N <= MT_COLUMNS_MOST && MT_CATEGORIES_N <= MT_COLUMNS_MOST &&
                   MT_PHASES_N <= MT_COLUMNS_MOST && MT_RANKS_N <= MT_COLUMNS_MOST &&
                   MT_SAMPLES_N <= MT_COLUMNS_MOST && MT_GROWING_N <= MT_COLUMNS_MOST,
               "a row has room for every column");

const struct mt_table mt_tables[MT_TABLES_N] = {
    [MT_TABLE_BLOCKS] = {"blocks", "every block, from its allocation to its free", blocks,
                         MT_BLOCKS_N},
    [MT_TABLE_EVENTS] = {"events", "every event, in the trace's order", events, MT_EVENTS_N},
    [MT_TABLE_STACKS] = {"stacks", "every stack, as its innermost frame and its caller", stacks,
                         MT_STACKS_N},
    [MT_TABLE_CATEGORIES] = {"categories", "what each category has at a moment", categories,
                             MT_CATEGORIES_N},
    [MT_TABLE_PHASES] = {"phases", "each run of a phase, with its highest moment", phases,
                         MT_PHASES_N},
    [MT_TABLE_RANKS] = {"ranks", "each process and device, with its peak", ranks, MT_RANKS_N},
    [MT_TABLE_SAMPLES] = {"samples", "what is allocated by category over the run", samples,
                          MT_SAMPLES_N},
    [MT_TABLE_GROWTH] = {"growth", "lines that leave blocks over, iteration by iteration", growth,
                         MT_GROWING_N},
};

enum mt_table_id mt_table_find(const char *name)
{
    unsigned id = 0;
    while (id < MT_TABLES_N && strcmp(name, mt_tables[id].name))
        id++;
    return (enum mt_table_id)id;
}
