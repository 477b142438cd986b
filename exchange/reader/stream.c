/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"
#include "columns-arrow.h"
#include "memtap-reader.h"
#include "quota.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row_stream {
    struct mt_stream_question question;
    char **path;
    size_t n_paths;
    struct mt_feed feed;
    struct mt_quota quota;
    int failed;              /* an errno, ever after */
    struct ArrowArray first; /* the batch that was read when the stream was made */
    bool has_first;
    char text[4608]; /* of the error: a path and what is wrong */
};

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct row_stream *self = stream->private_data;
    return -mt_columns_schema(&mt_tables[self->question.rows.table], out);
}

static void fail(struct row_stream *self, int rc, const struct mt_trace_error *error)
{
    const char *text = rc == -ENOMEM ? "out of memory" : *error->text ? error->text : strerror(-rc);
    char used_up[200];
    bool is_room = error->fault == MT_FAULT_ROOM;
    self->failed = is_room ? MEMTAP_READER_TOO_MUCH : -rc;
    if (!is_room && (rc == -MEMTAP_READER_TOO_MUCH || (rc == -ENOMEM && self->quota.is_used_up))) {
        mt_quota_describe(&self->quota, used_up, sizeof used_up);
        text = used_up;
        self->failed = MEMTAP_READER_TOO_MUCH;
    }
    if (is_room)
        text = error->text;
    snprintf(self->text, sizeof self->text, "%.4096s: %.400s", self->path[self->feed.next - 1],
             text);
    mt_feed_close(&self->feed);
}

/* Read rows, and go on behind a trace that is damaged where that was asked for. 1, 0 or a negative
 * errno with *error filled. */
static int read_rows(struct row_stream *self, struct mt_columns *columns,
                     struct mt_trace_error *error)
{
    int rc;
    do
        rc = mt_feed_next(&self->feed, columns, error);
    while (rc == -EBADMSG && self->question.takes_damaged);
    return rc;
}

/* Read the next batch; a released array where there is none. 0 or an errno. */
static int read_batch(struct row_stream *self, struct ArrowArray *out)
{
    struct mt_columns columns = {0};
    struct mt_trace_error error = {0};
    memset(out, 0, sizeof *out);
    if (self->failed)
        return self->failed;
    mt_quota_use(&self->quota);
    int rc = read_rows(self, &columns, &error);
    if (rc > 0 && !(rc = mt_columns_take(&columns, out)) && mt_quota_count(&self->quota, 0)) {
        out->release(out);
        rc = -MEMTAP_READER_TOO_MUCH;
    }
    if (rc)
        fail(self, rc, &error);
    mt_columns_clear(&columns);
    mt_quota_use(NULL);
    return self->failed;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct row_stream *self = stream->private_data;
    if (!self->has_first)
        return read_batch(self, out);
    *out = self->first;
    self->has_first = false;
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    struct row_stream *self = stream->private_data;
    return *self->text ? self->text : NULL;
}

static void destroy(struct row_stream *self)
{
    if (self->has_first && self->first.release)
        self->first.release(&self->first);
    mt_feed_close(&self->feed);
    for (size_t i = 0; i < self->n_paths; i++)
        free(self->path[i]);
    free(self->path);
    free(self);
}

static void release(struct ArrowArrayStream *stream)
{
    destroy(stream->private_data);
    stream->release = NULL;
}

static struct row_stream *create(const struct mt_stream_question *question,
                                 const char *const *paths, size_t n_paths)
{
    struct row_stream *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->question = *question;
    self->path = calloc(n_paths + 1, sizeof *self->path);
    for (; self->path && self->n_paths < n_paths; self->n_paths++)
        if (!(self->path[self->n_paths] = strdup(paths[self->n_paths])))
            break;
    self->feed = (struct mt_feed){.asked = &self->question.rows,
                                  .paths = (const char *const *)self->path,
                                  .n_paths = n_paths};
    if (self->path && self->n_paths == n_paths)
        return self;
    destroy(self);
    return NULL;
}

int mt_stream_make(struct ArrowArrayStream *out, const struct mt_stream_question *question,
                   const char *const *paths, size_t n_paths, char *error, size_t size)
{
    struct row_stream *self = create(question, paths, n_paths);
    if (!self) {
        snprintf(error, size, "out of memory");
        return -ENOMEM;
    }
    int rc = mt_quota_begin(&self->quota, error, size);
    if (!rc && (rc = -read_batch(self, &self->first)))
        snprintf(error, size, "%s", self->text);
    if (rc) {
        destroy(self);
        return rc;
    }
    self->has_first = true;
    *out = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release, self};
    return 0;
}
