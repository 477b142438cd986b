/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/nearest.h"
#include "columns-arrow.h"
#include "memtap-reader.h"
#include "stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
                                  const char *at, int takes_damaged, struct ArrowArrayStream *out,
                                  char *error, size_t size)
{
    struct mt_stream_question question = {.takes_damaged = takes_damaged != 0};
    if (find_table(table, &question.rows.table, error, size))
        return EINVAL;
    question.rows.whole_run = at && question.rows.table == MT_TABLE_BLOCKS && !strcmp(at, "all");
    if (at && !question.rows.whole_run && mt_moment_parse(at, &question.rows.question.moment))
        return fail_unknown("moment", at, MT_MOMENT_CHOICES, error, size);
    return -mt_stream_make(out, &question, paths, n_paths, error, size);
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
