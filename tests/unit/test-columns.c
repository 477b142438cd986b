/* SPDX-License-Identifier: Apache-2.0 */
/* The tables that other tools read: names and units that they can rely on. */
#include "exchange/tables/tables.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <stdbool.h>
#include <string.h>

static bool is_name(const char *text)
{
    return *text && text[strspn(text, "abcdefghijklmnopqrstuvwxyz_")] == 0;
}

START_TEST(names_are_plain_and_differ)
{
    for (unsigned id = 0; id < MT_TABLES_N; id++) {
        const struct mt_table *table = &mt_tables[id];
        ck_assert(is_name(table->name));
        ck_assert_uint_eq(mt_table_find(table->name), id);
        for (size_t i = 0; i < table->n_columns; i++) {
            ck_assert_msg(is_name(table->column[i].name), "%s.%s", table->name,
                          table->column[i].name);
            for (size_t j = 0; j < i; j++)
                ck_assert_str_ne(table->column[i].name, table->column[j].name);
        }
    }
    ck_assert_uint_eq(mt_table_find("nothing"), MT_TABLES_N);
}
END_TEST

/* A unit belongs to numbers, a column's name says ns, and the same name is the same type anywhere.
 */
START_TEST(types_and_units_agree)
{
    for (unsigned id = 0; id < MT_TABLES_N; id++)
        for (size_t i = 0; i < mt_tables[id].n_columns; i++) {
            const struct mt_table_column *column = &mt_tables[id].column[i];
            size_t size = strlen(column->name);
            bool says_ns = size > 3 && !strcmp(column->name + size - 3, "_ns");
            ck_assert_int_eq(says_ns, !strcmp(column->unit, "ns"));
            ck_assert(!*column->unit || column->type == MT_COLUMN_INT64);
            for (unsigned other = 0; other < id; other++)
                for (size_t j = 0; j < mt_tables[other].n_columns; j++)
                    if (!strcmp(mt_tables[other].column[j].name, column->name))
                        ck_assert_int_eq(mt_tables[other].column[j].type, column->type);
        }
}
END_TEST

int main(void)
{
    TCase *test = tcase_create("columns");
    tcase_add_test(test, names_are_plain_and_differ);
    tcase_add_test(test, types_and_units_agree);
    return RUN_TESTS(test);
}
