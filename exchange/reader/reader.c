/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/text.h"
#include "analyzer/trace/comparable-names.h"
#include "arrow.h"
#include "columns-arrow.h"
#include "exchange/tables/source.h"
#include "memtap-reader.h"
#include "quota.h"
#include "trace-format/settings/nearest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- an Arrow stream of rows, which reads as its consumer requests batches -------------------- */

/* What the stream does where a trace stops being valid: it fails, or continues with the next
 * trace. */
struct mt_stream_question {
    struct mt_rows_query rows;
    bool accepts_damaged;
};

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

static void fail_stream(struct row_stream *self, int rc, const struct mt_trace_error *error)
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

/* Read rows, and continue after a damaged trace if the caller requested that. Return 1, 0 or a
 * negative errno with *error filled. */
static int read_rows(struct row_stream *self, struct mt_columns *columns,
                     struct mt_trace_error *error)
{
    int rc;
    do
        rc = mt_feed_next(&self->feed, columns, error);
    while (rc == -EBADMSG && self->question.accepts_damaged);
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
        fail_stream(self, rc, &error);
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
    self->feed = (struct mt_feed){.query = &self->question.rows,
                                  .paths = (const char *const *)self->path,
                                  .n_paths = n_paths};
    if (self->path && self->n_paths == n_paths)
        return self;
    destroy(self);
    return NULL;
}

/* Make a stream of the traces, one after the other, and read its first batch, so that what is
 * wrong is known here. Paths are copied. 0, or a negative errno with a line in `error`. To be
 * released by its owner, at any time and by any thread; it has nothing to do with whoever made it.
 */
static int make_stream(struct ArrowArrayStream *out, const struct mt_stream_question *question,
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

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int memtap_reader_abi(void)
{
    return MEMTAP_READER_ABI;
}

EXPORTED const char *memtap_reader_table(int number)
{
    return number >= 0 && number < MT_TABLES_N ? mt_tables[number].name : NULL;
}

static int fail(int code, char *error, size_t size, const char *text)
{
    snprintf(error, size, "%s", text);
    return code;
}

static int fail_unknown(const char *what, const char *name, const char *choices, char *error,
                        size_t size)
{
    char why[MT_UNKNOWN_TEXT];
    return fail(EINVAL, error, size, mt_unknown_text(why, what, name, strlen(name), choices));
}

static int find_table(const char *name, enum mt_table_id *table, char *error, size_t size)
{
    *table = mt_table_find(name);
    if (*table != MT_TABLES_N)
        return 0;
    return fail_unknown("table", name, MT_TABLE_NAMES, error, size);
}

EXPORTED int memtap_reader_schema(const char *table, struct ArrowSchema *out, char *error,
                                  size_t size)
{
    enum mt_table_id id;
    if (find_table(table, &id, error, size))
        return EINVAL;
    return mt_columns_schema(&mt_tables[id], out) ? fail(ENOMEM, error, size, "out of memory") : 0;
}

EXPORTED int memtap_reader_stream(const char *const *paths, size_t n_paths, const char *table,
                                  const char *at, int accepts_damaged, struct ArrowArrayStream *out,
                                  char *error, size_t size)
{
    struct mt_stream_question question = {.accepts_damaged = accepts_damaged != 0};
    if (find_table(table, &question.rows.table, error, size))
        return EINVAL;
    question.rows.whole_run = at && question.rows.table == MT_TABLE_BLOCKS && !strcmp(at, "all");
    if (at && !question.rows.whole_run && mt_moment_parse(at, &question.rows.question.moment))
        return fail_unknown("moment", at, MT_MOMENT_CHOICES, error, size);
    return -make_stream(out, &question, paths, n_paths, error, size);
}

static bool has_blocks(const struct mt_stream_question *question, size_t n)
{
    while (n--)
        if (question[n].rows.table == MT_TABLE_BLOCKS)
            return true;
    return false;
}

/* Make the streams of the questions, until one cannot be: then none is left. */
static int make_streams(const struct mt_stream_question *question, size_t n, const char *path,
                        struct ArrowArrayStream *const *out, char *error, size_t size)
{
    size_t made = 0;
    int rc = 0;
    while (made < n && !(rc = make_stream(out[made], &question[made], &path, 1, error, size)))
        made++;
    while (rc && made--)
        out[made]->release(out[made]);
    return rc;
}

EXPORTED int memtap_reader_streams(const char *path, const char *const *tables, size_t n,
                                   int accepts_damaged, struct ArrowArrayStream *const *out,
                                   char *error, size_t size)
{
    struct mt_stream_question question[MT_TABLES_N] = {0};
    if (n > MT_TABLES_N)
        return fail(EINVAL, error, size, "a table is requested twice");
    for (size_t i = 0; i < n; i++) {
        question[i].accepts_damaged = accepts_damaged != 0;
        if (find_table(tables[i], &question[i].rows.table, error, size))
            return EINVAL;
    }
    struct mt_analyzed *analyzed = mt_analyzed_make(has_blocks(question, n));
    if (!analyzed)
        return fail(ENOMEM, error, size, "out of memory");
    for (size_t i = 0; i < n; i++)
        question[i].rows.analyzed = analyzed;
    int rc = -make_streams(question, n, path, out, error, size);
    mt_analyzed_drop(analyzed);
    return rc;
}

EXPORTED void memtap_reader_comparable_file(const char *file, const char *working_directory,
                                            char *out, size_t size)
{
    mt_comparable_file(out, size, file, working_directory);
}

EXPORTED void memtap_reader_program(const char *command, char *out, size_t size)
{
    mt_program_name(out, size, command);
}

EXPORTED void memtap_reader_size(uint64_t bytes, char *out, size_t size)
{
    char text[MT_SIZE_TEXT];
    snprintf(out, size, "%s", mt_size_text(text, bytes));
}

/* --- capsules --- */

static void *(*get_pointer)(void *capsule, const char *name);

EXPORTED void memtap_reader_set_capsules(void *(*given)(void *capsule, const char *name))
{
    get_pointer = given;
}

EXPORTED const char *memtap_reader_schema_name(void)
{
    return "arrow_schema";
}

EXPORTED const char *memtap_reader_stream_name(void)
{
    return "arrow_array_stream";
}

EXPORTED struct ArrowSchema *memtap_reader_new_schema(void)
{
    return calloc(1, sizeof(struct ArrowSchema));
}

EXPORTED struct ArrowArrayStream *memtap_reader_new_stream(void)
{
    return calloc(1, sizeof(struct ArrowArrayStream));
}

EXPORTED void memtap_reader_end_schema(void *capsule)
{
    struct ArrowSchema *schema = get_pointer(capsule, memtap_reader_schema_name());
    if (schema && schema->release)
        schema->release(schema);
    free(schema);
}

EXPORTED void memtap_reader_end_stream(void *capsule)
{
    struct ArrowArrayStream *stream = get_pointer(capsule, memtap_reader_stream_name());
    if (stream && stream->release)
        stream->release(stream);
    free(stream);
}
