/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads every table of traces through libmemtap-reader.so, as a C program does, and looks at every
 * byte of every column: read-tables TRACE... Then the same of copies that are cut or have other
 * bytes. read-tables --small BOMB...: each table once, within small limits. So a sanitizer sees
 * this library, which cannot come into a Python that was built without one.
 */
#include "exchange/reader/memtap-reader.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MOST_TABLES 64

static const char *const moments[] = {NULL,  "peak",    "end",    "oom",
                                      "all", "event:3", "step:1", "never"};
static size_t n_rows, n_tables_read, n_refused;
static unsigned touched; /* a sum of all bytes, so that each is read */

static void check(bool holds, const char *what, const char *table)
{
    if (holds)
        return;
    fprintf(stderr, "%s: %s\n", table, what);
    exit(1);
}

static void touch(const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        touched += ((const unsigned char *)bytes)[i];
}

static size_t width(const char *format)
{
    return *format == 's' ? 2 : *format == 'i' ? 4 : 8;
}

/* A column of texts: offsets that ascend, then the bytes. */
static void read_texts(const struct ArrowArray *array, const char *table)
{
    const int32_t *offset = array->buffers[1];
    check(array->n_buffers == 3, "texts have three buffers", table);
    for (int64_t i = 0; i < array->length; i++)
        check(offset[i] >= 0 && offset[i + 1] >= offset[i], "the offsets of texts do not ascend",
              table);
    if (array->length)
        touch(array->buffers[2], (size_t)offset[array->length]);
}

static bool is_null(const struct ArrowArray *array, int64_t row)
{
    const unsigned char *valid = array->buffers[0];
    return valid && !(valid[row / 8] >> (row % 8) & 1);
}

static void read_column(const struct ArrowSchema *schema, const struct ArrowArray *array,
                        const char *table)
{
    int64_t nulls = 0;
    check(array->n_buffers == 2 && !array->offset && width(schema->format) <= 8,
          "not a plain column", table);
    for (int64_t row = 0; row < array->length; row++)
        nulls += is_null(array, row);
    touch(array->buffers[1], (size_t)array->length * width(schema->format));
    check(array->null_count == nulls, "another number of nulls", table);
    check(!nulls || schema->flags & ARROW_FLAG_NULLABLE, "nulls where none may be", table);
    check(!schema->dictionary == !array->dictionary, "a dictionary in one of schema and column",
          table);
    if (!array->dictionary)
        return;
    read_texts(array->dictionary, table);
    const int32_t *text = array->buffers[1];
    for (int64_t row = 0; row < array->length; row++)
        check(is_null(array, row) || (text[row] >= 0 && text[row] < array->dictionary->length),
              "a text that is not in the dictionary", table);
}

static void read_rows(const struct ArrowSchema *schema, const struct ArrowArray *rows,
                      const char *table)
{
    check(rows->n_children == schema->n_children, "as many columns as in the schema", table);
    for (int64_t i = 0; i < rows->n_children; i++) {
        check(rows->children[i]->length == rows->length, "a column of another length", table);
        read_column(schema->children[i], rows->children[i], table);
    }
    n_rows += (size_t)rows->length;
}

/* Read a stream to its end, or only its first rows, and release everything. */
static void read_stream(struct ArrowArrayStream *stream, const char *table, bool to_end)
{
    struct ArrowSchema schema;
    check(!stream->get_schema(stream, &schema), "no schema", table);
    for (;;) {
        struct ArrowArray rows;
        if (stream->get_next(stream, &rows)) {
            check(*stream->get_last_error(stream), "an error without a text", table);
            n_refused++;
            break;
        }
        if (!rows.release)
            break;
        read_rows(&schema, &rows, table);
        rows.release(&rows);
        if (!to_end)
            break;
    }
    schema.release(&schema);
    stream->release(stream);
    n_tables_read++;
}

static void read_table(const char *const *paths, size_t n, const char *table, size_t n_moments)
{
    for (size_t i = 0; i < 4 * n_moments; i++) {
        struct ArrowArrayStream stream;
        char error[512] = "";
        int rc = memtap_reader_stream(paths, n, table, moments[i / 4], i & 1, &stream, error,
                                      sizeof error);
        check(!rc == !*error, "an error without a text, or a text without an error", table);
        if (rc)
            n_refused++;
        else
            read_stream(&stream, table, i & 2);
    }
}

/* Read all tables by one analysis, the last one first: each has as many rows as alone. */
static void read_together(const char *path)
{
    const char *tables[MOST_TABLES], *table;
    struct ArrowArrayStream stream[MOST_TABLES], *out[MOST_TABLES], alone;
    char error[512] = "";
    size_t n = 0;
    for (; n < MOST_TABLES && (table = memtap_reader_table((int)n)); n++) {
        tables[n] = table;
        out[n] = &stream[n];
    }
    int rc = memtap_reader_streams(path, tables, n, 1, out, error, sizeof error);
    check(!rc == !*error, "an error without a text, or a text without an error", path);
    for (size_t i = rc ? 0 : n; i-- > 0;) {
        size_t before = n_rows;
        read_stream(&stream[i], tables[i], true);
        size_t together = n_rows - before;
        check(!memtap_reader_stream(&path, 1, tables[i], NULL, 1, &alone, error, sizeof error),
              "cannot be read alone", tables[i]);
        read_stream(&alone, tables[i], true);
        check(n_rows - before == 2 * together, "has other rows alone", tables[i]);
    }
}

/* Read every table at the first moments of the list. */
static void read_all(const char *const *paths, size_t n, size_t n_moments)
{
    const char *table;
    for (int i = 0; i < MOST_TABLES && (table = memtap_reader_table(i)); i++)
        read_table(paths, n, table, n_moments);
    for (size_t i = 0; i < n; i++) {
        char error[64] = "", *about = memtap_reader_about(paths[i], error, sizeof error);
        check(about || *error, "an error without a text", paths[i]);
        touch(about, about ? strlen(about) : 0);
        free(about);
    }
}

static unsigned next_random(void)
{
    static unsigned state = 20;
    return state = state * 1664525u + 1013904223u;
}

/* Write a copy that is cut, or of which some bytes are others. */
static void spoil(const char *from, const char *to, bool is_cut)
{
    static unsigned char bytes[1 << 20];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    check(in && out, "cannot be opened", from);
    size_t size = fread(bytes, 1, sizeof bytes, in);
    size_t kept = is_cut ? (next_random() >> 8) % (size + 1) : size;
    for (unsigned i = 0; !is_cut && size && i < 4; i++)
        bytes[(next_random() >> 8) % size] ^= (unsigned char)(1u << (next_random() >> 29));
    check(fwrite(bytes, 1, kept, out) == kept && !fclose(out) && !fclose(in), "cannot be copied",
          from);
}

static void read_spoiled(const char *path)
{
    char name[] = "/tmp/memtap-read-XXXXXX";
    int fd = mkstemp(name);
    check(fd >= 0, "cannot be made", name);
    close(fd);
    for (unsigned i = 0; i < 2; i++) {
        spoil(path, name, i & 1);
        read_all((const char *const[]){name}, 1, 1);
    }
    unlink(name);
}

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define OWN_MEMORY (UINT64_C(1) << 40) /* a sanitizer keeps what was freed */
#else
#define OWN_MEMORY (UINT64_C(16) << 20)
#endif
#define SMALL_MEMORY (UINT64_C(48) << 20)
#define SMALL_OUTPUT (UINT64_C(4) << 20)

/* Return the most memory that the process had, in bytes. */
static uint64_t most_memory(void)
{
    struct rusage usage;
    check(!getrusage(RUSAGE_SELF, &usage), "no usage", "process");
    return (uint64_t)usage.ru_maxrss << 10;
}

/* Read a table to its end. Return whether it was too much; nothing else may be wrong. */
static bool is_too_much(const char *path, const char *table, const char *moment)
{
    struct ArrowArrayStream stream;
    struct ArrowArray rows;
    char error[512] = "";
    int rc = memtap_reader_stream(&path, 1, table, moment, 0, &stream, error, sizeof error);
    if (!rc) {
        while (!(rc = stream.get_next(&stream, &rows)) && rows.release)
            rows.release(&rows);
        snprintf(error, sizeof error, "%s", rc ? stream.get_last_error(&stream) : "");
        stream.release(&stream);
    }
    check(!rc || rc == MEMTAP_READER_TOO_MUCH, error, path);
    check(!rc == !strstr(error, "MEMTAP_MOST_"), error, path);
    return rc != 0;
}

static void read_bombs(const char *const *paths, size_t n)
{
    const char *table;
    uint64_t before = most_memory();
    memtap_reader_limits(SMALL_MEMORY, SMALL_OUTPUT, 1000000);
    for (size_t i = 0; i < n; i++) {
        for (int j = 0; (table = memtap_reader_table(j)); j++)
            n_refused += is_too_much(paths[i], table, NULL);
        n_refused += is_too_much(paths[i], "blocks", "all");
        check(most_memory() < before + SMALL_MEMORY + SMALL_OUTPUT + OWN_MEMORY,
              "takes more memory than is allowed", paths[i]);
    }
    memtap_reader_limits(0, 0, 0);
    printf("%zu of %zu bombs' tables are too much\n", n_refused, n * 9);
    check(n_refused >= 2 * n, "the limits refuse nothing", "all");
}

int main(int n, char **arguments)
{
    const char *const *paths = (const char *const *)arguments + 1;
    struct ArrowSchema schema;
    char error[64] = "";
    if (n > 2 && !strcmp(arguments[1], "--small")) {
        read_bombs(paths + 1, (size_t)n - 2);
        return 0;
    }
    check(memtap_reader_schema("no such table", &schema, error, sizeof error) && *error,
          "is no error", "no such table");
    read_all(paths, (size_t)n - 1, 1);
    for (int i = 0; i < n - 1; i++) {
        read_together(paths[i]);
        read_all(&paths[i], 1, sizeof moments / sizeof *moments);
        read_spoiled(paths[i]);
    }
    printf("%zu tables, %zu rows, %zu errors, sum %u\n", n_tables_read, n_rows, n_refused, touched);
    check(n < 2 || (n_tables_read && n_rows && n_refused), "nothing was read", "all");
    return 0;
}
