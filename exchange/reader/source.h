/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the rows of a table come from: one trace, read as far as the next batch needs. Used by one
 * thread at a time.
 */
#ifndef MT_SOURCE_H
#define MT_SOURCE_H

#include "analyzer/findings/analysis.h"
#include "columns.h"

struct mt_row_source_question {
    enum mt_table_id table;
    struct mt_moment moment; /* blocks, categories */
    bool whole_run;          /* blocks: every one that there was, instead of those of the moment */
};

/* What is wrong is in error: its text; without one, there is no memory. */
struct mt_row_source {
    const struct mt_row_source_question *question;
    const char *path;
    bool has_rank;
    int32_t rank;
    /* Adds rows until the columns are full: 1, 0 at the end, or a negative errno with *error
     * filled. A trace that is not sound gives what is there before the fault, and then -EBADMSG. */
    int (*fill)(struct mt_row_source *rows, struct mt_columns *columns,
                struct mt_trace_error *error);
    void (*close)(struct mt_row_source *rows); /* and free */
};

/* Opens a trace. The path and the question have to live as long. 0, or a negative errno with *error
 * filled. */
int mt_row_source_open(struct mt_row_source **out, const struct mt_row_source_question *question,
                       const char *path, struct mt_trace_error *error);

/* Takes the rank from an info record, if it says it; puts it into a column. */
void mt_row_source_see_rank(struct mt_row_source *rows, const struct mt_definition *definition);
void mt_row_source_take_rank(struct mt_row_source *rows, const struct mt_definitions *definitions);
static inline void mt_row_source_put_rank(const struct mt_row_source *rows,
                                          struct mt_columns *columns, unsigned column)
{
    if (rows->has_rank)
        mt_columns_put(columns, column, rows->rank);
}

/* A block as a row of the table of blocks. */
struct mt_block_row {
    const struct mt_replay *replay;
    const struct mt_verdict *verdict;
    const struct mt_spans *spans; /* with numbers */
    bool of_cuda, has_end;
    uint64_t end_ns, end_event;
    const struct mt_device *at; /* whose moment is asked for; NULL: the whole run is */
};
void mt_row_source_put_block(const struct mt_row_source *rows, struct mt_columns *columns,
                             const struct mt_block_row *row);

/* The tables, each. 0 or a negative errno. */
typedef int mt_row_source_maker(struct mt_row_source **out, const char *path,
                                struct mt_trace_error *error);
mt_row_source_maker mt_row_source_events, mt_row_source_stacks, mt_row_source_lives,
    mt_row_source_blocks, mt_row_source_categories, mt_row_source_phases, mt_row_source_ranks,
    mt_row_source_samples, mt_row_source_growth;

/* Tables of what an analysis has when it is done. put: adds rows from where it left off, until the
 * columns are full (1) or there are no more (0); or a negative errno. */
struct mt_moment_source;
typedef int mt_moment_put(struct mt_moment_source *rows, struct mt_columns *columns);
struct mt_moment_source {
    struct mt_row_source rows;
    mt_moment_put *put;
    bool is_analyzed, lacks_memory;
    struct mt_analysis analysis;
    size_t device, next; /* what comes next; put's own */
    /* Of blocks: when those ended that the moment has. */
    struct mt_life_watcher watcher;
    struct mt_block_ends {
        struct mt_block_end {
            uint64_t time_ns, event; /* 0: the trace ends before it */
        } *end;                      /* by the record's index in its heap */
        size_t capacity;
    } ends[2];                   /* of PyTorch's heap, of CUDA's */
    struct mt_block_end *end_of; /* by verdict of the device */
};
int mt_moment_source_make(struct mt_row_source **out, mt_moment_put *put);

#endif
