/* SPDX-License-Identifier: Apache-2.0 */
#include "source.h"
#include "analyzer/support/room.h"

#include <errno.h>

static mt_moment_put *const moment_puts[MT_TABLES_N] = {
    [MT_TABLE_BLOCKS] = mt_put_blocks,   [MT_TABLE_CATEGORIES] = mt_put_categories,
    [MT_TABLE_PHASES] = mt_put_phases,   [MT_TABLE_RANKS] = mt_put_ranks,
    [MT_TABLE_SAMPLES] = mt_put_samples, [MT_TABLE_GROWTH] = mt_put_growth,
};

static int make(const struct mt_rows_query *query, struct mt_rows **out, const char *path,
                struct mt_trace_error *error)
{
    if (query->table == MT_TABLE_BLOCKS && query->whole_run)
        return mt_rows_lives(out, path, error);
    return query->table == MT_TABLE_EVENTS   ? mt_rows_events(out, path, error)
           : query->table == MT_TABLE_STACKS ? mt_rows_stacks(out, path, error)
                                             : mt_moment_rows_make(out, moment_puts[query->table]);
}

static int open_next(struct mt_feed *feed, struct mt_trace_error *error)
{
    const struct mt_rows_query *query = feed->query;
    const char *path = feed->paths[feed->next++];
    mt_room_input(path);
    int rc = make(query, &feed->rows, path, error);
    if (rc)
        return rc;
    feed->rows->query = query;
    feed->rows->path = path;
    return 0;
}

/* Add rows of the trace that is open, or open the next one: 1, 0 when all are read, or a negative
 * errno. */
static int read_on(struct mt_feed *feed, struct mt_columns *columns, struct mt_trace_error *error)
{
    if (!feed->rows && feed->next == feed->n_paths)
        return 0;
    if (!feed->rows) {
        mt_columns_forget(columns);
        return open_next(feed, error) ?: 1;
    }
    int rc = feed->rows->fill(feed->rows, columns, error);
    if (rc <= 0)
        mt_feed_close(feed);
    return rc ?: 1;
}

int mt_feed_next(struct mt_feed *feed, struct mt_columns *columns, struct mt_trace_error *error)
{
    int rc = feed->failed ?: 1;
    *error = feed->fault;
    mt_columns_begin(columns, &mt_tables[feed->query->table]);
    while (rc > 0 && !mt_columns_are_full(columns))
        rc = read_on(feed, columns, error);
    feed->failed = 0;
    feed->fault = (struct mt_trace_error){0};
    if (columns->lacks_memory)
        return -ENOMEM;
    if (rc != -EBADMSG || !columns->n)
        return rc < 0 ? rc : columns->n > 0;
    feed->failed = rc;
    feed->fault = *error;
    return 1;
}

void mt_feed_close(struct mt_feed *feed)
{
    if (feed->rows)
        feed->rows->close(feed->rows);
    feed->rows = NULL;
}
