/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source of the rows of tables: traces, read as far as the next batch needs. Used by every
 * output of tables, by one thread at a time.
 *
 *     struct mt_feed feed = {.query = &query, .paths = paths, .n_paths = n};
 *     while ((rc = mt_feed_next(&feed, &columns, &fault)) > 0)
 *         ... columns.n rows ...
 *     mt_feed_close(&feed);
 */
#ifndef MT_SOURCE_H
#define MT_SOURCE_H

#include "analyzer/findings/analysis.h"
#include "columns.h"

/* The analysis of a trace, shared by all tables requested together. */
struct mt_analyzed;

/* Create one for several queries of one trace; the creator drops it, and each mt_rows keeps it
 * until it is closed. has_ends: one of the queries is for blocks. NULL: no memory. */
struct mt_analyzed *mt_analyzed_make(bool has_ends);
void mt_analyzed_drop(struct mt_analyzed *analyzed);

/* Which rows are requested. */
struct mt_rows_query {
    enum mt_table_id table;
    struct mt_analyzed *analyzed; /* NULL: none is shared */
    struct mt_question question;  /* moment, rules, device, labels, filter; by tables' need */
    bool whole_run; /* blocks: every one that there was, instead of those of the moment */
    bool has_times; /* blocks of the whole run, events: only those live from from_ns to to_ns */
    uint64_t from_ns, to_ns;
};

/* Rows of traces, one trace after the other. */
struct mt_feed {
    const struct mt_rows_query *query;
    const char *const *paths; /* the caller's */
    size_t n_paths, next;     /* the trace that comes next */
    struct mt_rows *rows;     /* of the one before it; NULL: none is open */
    int failed;               /* what comes after the rows before it; with its fault */
    struct mt_trace_error fault;
};

/* Begin the columns and fill them. Return 1, 0 when no row is left, or a negative errno with *error
 * filled (without a text: no memory), about the trace before feed->next. A damaged trace yields the
 * rows before its fault, then -EBADMSG, then the next trace's rows. */
int mt_feed_next(struct mt_feed *feed, struct mt_columns *columns, struct mt_trace_error *error);
void mt_feed_close(struct mt_feed *feed);

/* --- for the tables' files --- */

struct mt_rows {
    const struct mt_rows_query *query;
    const char *path;
    bool has_rank;
    int32_t rank;
    /* Adds rows until the columns are full: 1, 0 at the end, or a negative errno with *error
     * filled. A trace that is not sound gives what is there before the fault, and then -EBADMSG. */
    int (*fill)(struct mt_rows *rows, struct mt_columns *columns, struct mt_trace_error *error);
    void (*close)(struct mt_rows *rows); /* and free */
};

/* Take the rank from an info record, if it says it; put it into a column. */
void mt_rows_note_rank(struct mt_rows *rows, const struct mt_definition *definition);
void mt_rows_take_rank(struct mt_rows *rows, const struct mt_definitions *definitions);
static inline void mt_rows_put_rank(const struct mt_rows *rows, struct mt_columns *columns,
                                    unsigned column)
{
    if (rows->has_rank)
        mt_columns_put(columns, column, rows->rank);
}

static inline bool mt_rows_have_device(const struct mt_rows *rows, int device)
{
    return !rows->query->question.one_device || rows->query->question.device == device;
}

static inline bool mt_rows_have_time(const struct mt_rows *rows, uint64_t from_ns, uint64_t to_ns)
{
    const struct mt_rows_query *query = rows->query;
    return !query->has_times || (from_ns <= query->to_ns && to_ns >= query->from_ns);
}

/* Put what several tables have. */
static inline void mt_rows_put_device(struct mt_columns *columns, unsigned column, int device)
{
    if (device != MT_NO_DEVICE)
        mt_columns_put(columns, column, device);
}

static inline void mt_rows_put_level(struct mt_columns *columns, unsigned column, bool of_cuda)
{
    if (!mt_columns_again(columns, column, of_cuda))
        mt_columns_name(columns, column, of_cuda, of_cuda ? "cuda" : "pytorch");
}

static inline void mt_rows_put_category(struct mt_columns *columns, unsigned column,
                                        unsigned category)
{
    if (!mt_columns_again(columns, column, category))
        mt_columns_name(columns, column, category, mt_categories[category].name);
}

static inline void mt_rows_put_phase(struct mt_columns *columns, unsigned column, unsigned phase)
{
    if (!mt_columns_again(columns, column, phase))
        mt_columns_name(columns, column, phase, mt_phase_names[phase].name);
}

/* Put a line of code into three columns, the first the function's. */
void mt_rows_put_frame(struct mt_columns *columns, unsigned first,
                       const struct mt_definitions *definitions, uint32_t frame);

/* The tables that are read event by event. 0 or a negative errno. */
typedef int mt_rows_maker(struct mt_rows **out, const char *path, struct mt_trace_error *error);
mt_rows_maker mt_rows_events, mt_rows_stacks, mt_rows_lives;

/* Tables of what a finished analysis has. put: adds rows from where it stopped, until the columns
 * are full (1) or there are no more (0), or returns a negative errno. */
struct mt_moment_rows;
typedef int mt_moment_put(struct mt_moment_rows *rows, struct mt_columns *columns);
mt_moment_put mt_put_blocks, mt_put_categories, mt_put_phases, mt_put_ranks, mt_put_samples,
    mt_put_growth;
struct mt_moment_rows {
    struct mt_rows rows;
    mt_moment_put *put;
    struct mt_analyzed *analyzed; /* NULL: not yet */
    size_t device, next;          /* what comes next; put's own */
    struct mt_block_end *end_of;  /* by verdict of the device */
    struct mt_verdict *shown;     /* of the device, n_shown */
    size_t n_shown;
};
int mt_moment_rows_make(struct mt_rows **out, mt_moment_put *put);

struct mt_analyzed {
    unsigned users;
    bool has_ends, is_done, lacks_memory;
    struct mt_analysis analysis;
    /* When the blocks ended that the moment has. */
    struct mt_life_watcher watcher;
    struct mt_block_ends {
        struct mt_block_end {
            uint64_t time_ns, event; /* 0: the trace ends before it */
        } *end;                      /* by the record's index in its heap */
        size_t capacity;
    } ends[2]; /* of PyTorch's heap, of CUDA's */
};

#endif
