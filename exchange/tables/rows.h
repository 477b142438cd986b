/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills the tables of tables.h from a trace, row by row; no more is held than what is live. Texts
 * are known before the first row: each column of texts has its dictionary, in which no text is
 * there twice.
 *
 *     mt_rows_open(&rows, path, &question, &fault);
 *     for each column of texts: mt_rows_text(rows, table, column, 0 .. mt_rows_texts(...) - 1);
 *     mt_rows_blocks(rows, take, data, &fault);
 *     mt_rows_close(rows);
 *
 * It belongs to one thread at a time.
 */
#ifndef MT_TABLE_ROWS_H
#define MT_TABLE_ROWS_H

#include "analyzer/findings/analysis.h"
#include "tables.h"

#include <stdbool.h>

struct mt_rows;

/* By column: the number, or of a text its index in the column's dictionary. */
struct mt_row {
    int64_t at[MT_COLUMNS_MOST];
    uint32_t nulls; /* a bit a column */
};

/* Takes a row, which is its own until it returns. Anything but 0 ends it all. */
typedef int mt_row_taker(void *data, const struct mt_row *row);

/* Reads a trace once, for what is known at its end only (categories, iterations, texts). Of the
 * question, rules, no_labels and device count; what it points to is the caller's. 0, also where the
 * trace is sound only up to fault->offset; or a negative errno with *fault filled (text empty: out
 * of memory). */
int mt_rows_open(struct mt_rows **out, const char *path, const struct mt_question *question,
                 struct mt_trace_error *fault);

/* How many texts the column's dictionary has, and each of them: valid UTF-8, the rows'. */
size_t mt_rows_texts(const struct mt_rows *rows, enum mt_table_id table, unsigned column);
const char *mt_rows_text(const struct mt_rows *rows, enum mt_table_id table, unsigned column,
                         size_t index);

/* Hands over every row of a table: blocks in the order of their ends (those that have none last),
 * events in the trace's, stacks by number. 0, what `take` returned, or a negative errno with *fault
 * filled. */
int mt_rows_read(struct mt_rows *rows, enum mt_table_id table, mt_row_taker *take, void *data,
                 struct mt_trace_error *fault);

/* Likewise the blocks that are live at the analysis's moment, with its verdicts on them. */
int mt_rows_live(struct mt_rows *rows, const struct mt_analysis *analysis, mt_row_taker *take,
                 void *data, struct mt_trace_error *fault);

/* The replay of the first reading, whose definitions, spans and timelines the caller may look at.
 */
const struct mt_replay *mt_rows_replay(const struct mt_rows *rows);

/* The rule that holds for the block that an event made, known at its end: an index as of
 * mt_rule_at. -1: the event made none. */
int mt_rows_rule(const struct mt_rows *rows, uint64_t event);

/* Fills in a block's row: its verdict, and when it ended (end_event 0: the trace does before it).
 */
void mt_rows_block(const struct mt_rows *rows, const struct mt_verdict *verdict, uint64_t end_ns,
                   uint64_t end_event, bool is_of_cuda, struct mt_row *row);

void mt_rows_close(struct mt_rows *rows);

#endif
