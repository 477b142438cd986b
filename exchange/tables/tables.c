/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"

#include <string.h>

#define COLUMN(id, name, type, has_nulls, unit, meaning)                                           \
    {name, MT_COLUMN_##type, has_nulls, unit, meaning},
#define COLUMNS(id, columns, ...)                                                                  \
    static const struct mt_table_column columns_of_##id[] = {MT_##columns##_COLUMNS(COLUMN)};      \
    _Static_assert(MT_##columns##_N <= MT_COLUMNS_MOST, "there is room for every column");
MT_TABLES(COLUMNS)

#define TABLE(id, columns, name, meaning) {name, meaning, columns_of_##id, MT_##columns##_N},
const struct mt_table mt_tables[MT_TABLES_N] = {MT_TABLES(TABLE)};

enum mt_table_id mt_table_find(const char *name)
{
    unsigned id = 0;
    while (id < MT_TABLES_N && strcmp(name, mt_tables[id].name))
        id++;
    return (enum mt_table_id)id;
}
