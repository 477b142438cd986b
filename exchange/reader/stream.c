/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row_stream {
    struct mt_stream_question question;
    char **path;
    size_t n_paths, next;       /* the trace that comes next */
    struct mt_row_source *rows; /* of the one before it; NULL: none is open */
    int failed;                 /* an errno, ever after */
    struct ArrowArray first;    /* the batch that was read when the stream was made */
    bool has_first;
    char text[4608]; /* of the error: a path and what is wrong */
};

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct row_stream *self = stream->private_data;
    return -mt_columns_schema(&mt_tables[self->question.rows.table], out);
}

static void close_rows(struct row_stream *self)
{
    if (self->rows)
        self->rows->close(self->rows);
    self->rows = NULL;
}

static int fail(struct row_stream *self, int rc, const char *text)
{
    self->failed = -rc;
    if (rc == -ENOMEM || !*text)
        snprintf(self->text, sizeof self->text, "%s",
                 rc == -ENOMEM ? "out of memory" : strerror(-rc));
    else
        snprintf(self->text, sizeof self->text, "%.4096s: %.400s", self->path[self->next - 1],
                 text);
    close_rows(self);
    return rc;
}

/* Adds rows of the trace that is open, or opens the next one: 1, 0 when all are read, or a negative
 * errno. */
static int read_on(struct row_stream *self, struct mt_columns *columns)
{
    struct mt_trace_error error = {0};
    if (!self->rows) {
        if (self->next == self->n_paths)
            return 0;
        int rc =
            mt_row_source_open(&self->rows, &self->question.rows, self->path[self->next++], &error);
        return rc ? fail(self, rc, error.text) : 1;
    }
    int rc = self->rows->fill(self->rows, columns, &error);
    if (rc > 0)
        return 1;
    if (rc == 0 || (rc == -EBADMSG && self->question.takes_damaged)) {
        close_rows(self);
        return 1;
    }
    /* What is there before the fault is given first. */
    fail(self, rc, error.text);
    return rc == -EBADMSG && columns->n ? 0 : rc;
}

/* Reads the next batch; a released array where there is none. 0 or an errno. */
static int read_batch(struct row_stream *self, struct ArrowArray *out)
{
    struct mt_columns columns = {0};
    memset(out, 0, sizeof *out);
    if (self->failed)
        return self->failed;
    mt_columns_begin(&columns, &mt_tables[self->question.rows.table]);
    int rc = 1;
    while (rc > 0 && !mt_columns_are_full(&columns))
        rc = read_on(self, &columns);
    if (rc >= 0 && columns.lacks_memory)
        rc = fail(self, -ENOMEM, "");
    if (rc >= 0 && columns.n) {
        rc = mt_columns_take(&columns, out);
        if (rc)
            fail(self, rc, "");
    }
    mt_columns_clear(&columns);
    return rc < 0 ? -rc : 0;
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
    close_rows(self);
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
    int rc = read_batch(self, &self->first);
    if (rc) {
        snprintf(error, size, "%s", self->text);
        destroy(self);
        return -rc;
    }
    self->has_first = true;
    *out = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release, self};
    return 0;
}
