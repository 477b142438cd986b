/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads tables of SQLite's file format (sqlite.org/fileformat2.html): a table is a tree of pages,
 * whose leaves have rows in the order of rowids.
 */
#include "analyzer/support/grow.h"
#include "analyzer/support/room.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER 100u /* bytes before the first page's tree */
#define DEEPEST 20u /* pages from a table's root to a leaf */
#define COLUMNS 16u /* of a query */
#define SCHEMA_COLUMNS 5u
#define LARGEST_ROW (64u << 20)

enum { INNER = 5, LEAF = 13 }; /* pages of a table */

struct sqlite3 {
    int fd;
    uint32_t page_size, usable, n_pages;
    uint32_t unread; /* pages: a sound tree has each page once */
    char error[120];
};

struct sqlite3_stmt {
    uint32_t n_columns, at;
    uint32_t index[COLUMNS];   /* in the table */
    bool is_rowid[COLUMNS];    /* stored as NULL, which stands for the rowid */
    int64_t *values;           /* by row: of the columns, and the row's number */
    size_t n_values, capacity; /* in all rows */
};

struct value {
    uint64_t type; /* SQLite's serial type */
    int64_t number;
    const unsigned char *bytes;
    size_t size; /* of a text or blob */
};

struct row {
    int64_t rowid;
    const struct value *value;
    uint32_t n; /* columns that are stored */
};

typedef int (*on_row)(void *data, const struct row *row);

__attribute__((format(printf, 2, 3))) static int fail(struct sqlite3 *database, const char *format,
                                                      ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(database->error, sizeof database->error, format, arguments);
    va_end(arguments);
    return SQLITE_ERROR;
}

static uint64_t number_at(const unsigned char *bytes, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value = value << 8 | bytes[i];
    return value;
}

/* Read a variable-length integer, or 0 at the end of the bytes. */
static uint64_t next_number(const unsigned char **at, const unsigned char *end)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 9 && *at < end; i++) {
        unsigned byte = *(*at)++;
        if (i == 8)
            return value << 8 | byte;
        value = value << 7 | (byte & 127);
        if (byte < 128)
            return value;
    }
    return 0;
}

static int read_page(struct sqlite3 *database, uint64_t page, unsigned char *out)
{
    if (!page || page > database->n_pages || !database->unread)
        return fail(database, "damaged or truncated");
    database->unread--;
    ssize_t n =
        pread(database->fd, out, database->page_size, (off_t)((page - 1) * database->page_size));
    return n == (ssize_t)database->page_size
               ? 0
               : fail(database, "page %u cannot be read", (unsigned)page);
}

/* Return the bytes of a type's values. */
static uint64_t size_of(uint64_t type)
{
    static const unsigned char sizes[12] = {0, 1, 2, 3, 4, 6, 8, 8};
    return type < 12 ? sizes[type] : (type - 12) / 2;
}

static int64_t number_of(const struct value *value)
{
    char text[24] = "";
    double real;
    uint64_t bits;
    if (value->type == 7) {
        bits = number_at(value->bytes, 8);
        memcpy(&real, &bits, sizeof real);
        return real >= 0x1p63 ? INT64_MAX : real >= -0x1p63 ? (int64_t)real : INT64_MIN;
    }
    if (value->type < 8) {
        unsigned size = (unsigned)size_of(value->type), spare = 64 - 8 * size;
        return size ? (int64_t)(number_at(value->bytes, size) << spare) >> spare : 0;
    }
    if (value->type < 12)
        return value->type == 9;
    memcpy(text, value->bytes, value->size < sizeof text ? value->size : sizeof text - 1);
    return strtoll(text, NULL, 10);
}

/* Call with a row that is complete in memory. */
static int give_row(struct sqlite3 *database, const unsigned char *at, size_t size, int64_t rowid,
                    on_row call, void *data)
{
    struct value value[64];
    struct row row = {.rowid = rowid, .value = value};
    const unsigned char *end = at + size, *types = at;
    uint64_t head = next_number(&types, end);
    if (head > size)
        return fail(database, "damaged: a row's header");
    for (const unsigned char *body = at + head; types < at + head && row.n < 64; row.n++) {
        struct value *one = &value[row.n];
        one->type = next_number(&types, at + head);
        uint64_t bytes = size_of(one->type);
        if (bytes > (uint64_t)(end - body))
            return fail(database, "damaged: a row's value");
        one->bytes = body;
        one->size = (size_t)bytes;
        one->number = number_of(one);
        body += bytes;
    }
    return call(data, &row);
}

/* Call with the row in a cell, of which a long one goes on in other pages. */
static int give_cell(struct sqlite3 *database, const unsigned char *cell, const unsigned char *end,
                     on_row call, void *data)
{
    uint64_t size = next_number(&cell, end), usable = database->usable, most = usable - 35;
    int64_t rowid = (int64_t)next_number(&cell, end);
    uint64_t least = (usable - 12) * 32 / 255 - 23, here = size;
    if (size > most) {
        here = least + (size - least) % (usable - 4);
        here = here > most ? least : here;
    }
    if (here + (here < size ? 4 : 0) > (uint64_t)(end - cell) || size > LARGEST_ROW)
        return fail(database, "damaged: a row's size");
    if (here == size)
        return give_row(database, cell, (size_t)size, rowid, call, data);
    unsigned char *all = malloc((size_t)size), *page = malloc(database->page_size);
    int rc = all && page ? 0 : fail(database, "not enough memory");
    uint64_t next = number_at(cell + here, 4);
    if (!rc)
        memcpy(all, cell, (size_t)here);
    while (!rc && here < size) {
        uint64_t n = size - here < usable - 4 ? size - here : usable - 4;
        rc = read_page(database, next, page);
        if (rc)
            break;
        memcpy(all + here, page + 4, (size_t)n);
        here += n;
        next = number_at(page, 4);
    }
    if (!rc)
        rc = give_row(database, all, (size_t)size, rowid, call, data);
    free(all);
    free(page);
    return rc;
}

/* Call with each row of the tree below a page. */
static int walk(struct sqlite3 *database, uint64_t number, unsigned depth, on_row call, void *data)
{
    unsigned char *page = malloc(database->page_size);
    int rc = page ? read_page(database, number, page) : fail(database, "not enough memory");
    const unsigned char *head = page + (number == 1 ? HEADER : 0), *end = page + database->usable;
    unsigned kind = rc ? 0 : head[0], cells = rc ? 0 : (unsigned)number_at(head + 3, 2);
    const unsigned char *places = head + (kind == INNER ? 12 : 8);
    if (!rc && ((kind != INNER && kind != LEAF) || depth > DEEPEST || places + 2 * cells > end))
        rc = fail(database, "damaged at page %u", (unsigned)number);
    for (unsigned i = 0; i < cells && !rc; i++) {
        const unsigned char *cell = page + number_at(places + 2 * i, 2);
        if (cell + 4 > end)
            rc = fail(database, "damaged at page %u", (unsigned)number);
        else
            rc = kind == LEAF ? give_cell(database, cell, end, call, data)
                              : walk(database, number_at(cell, 4), depth + 1, call, data);
    }
    if (!rc && kind == INNER)
        rc = walk(database, number_at(head + 8, 4), depth + 1, call, data);
    free(page);
    return rc;
}

/* Read all of a tree. */
static int read_tree(struct sqlite3 *database, uint64_t root, on_row call, void *data)
{
    database->unread = database->n_pages;
    return walk(database, root, 0, call, data);
}

struct wanted_table {
    const char *name;
    uint64_t root; /* page; 0: not found */
    char *sql;     /* what created it */
};

static bool is_text(const struct value *value, const char *text)
{
    return value->type > 12 && value->type % 2 && value->size == strlen(text) &&
           !strncasecmp((const char *)value->bytes, text, value->size);
}

static int note_table(void *data, const struct row *row)
{
    struct wanted_table *table = data;
    if (row->n < SCHEMA_COLUMNS || !is_text(&row->value[0], "table") ||
        !is_text(&row->value[1], table->name) || table->sql)
        return 0;
    table->root = (uint64_t)row->value[3].number;
    table->sql = strndup((const char *)row->value[4].bytes, row->value[4].size);
    return 0;
}

/* Return the end of a column's definition: the next comma or bracket outside brackets. */
static const char *end_of_column(const char *at)
{
    for (int depth = 0; *at && (depth || (*at != ',' && *at != ')')); at++)
        depth += (*at == '(') - (*at == ')');
    return at;
}

/* Find a column among those of CREATE TABLE. Return whether it is there. */
static bool find_column(const char *sql, const char *name, uint32_t *index, bool *is_rowid)
{
    const char *at = strchr(sql, '(');
    for (*index = 0; at && (*at == '(' || *at == ','); ++*index) {
        at += strspn(at, "(, \t\r\n\"`[");
        const char *end = end_of_column(at);
        size_t size = strcspn(at, " \t\r\n\"`],)");
        if (size == strlen(name) && !strncasecmp(at, name, size)) {
            char rest[64];
            snprintf(rest, sizeof rest, "%.*s", (int)(end - at), at);
            *is_rowid = strcasestr(rest, "INTEGER") && strcasestr(rest, "PRIMARY KEY");
            return true;
        }
        at = end;
    }
    return false;
}

static int keep_row(void *data, const struct row *row)
{
    struct sqlite3_stmt *rows = data;
    size_t width = rows->n_columns + 1;
    if (mt_room_is_full() || MT_GROW(rows->values, rows->capacity, rows->n_values + width))
        return -ENOMEM;
    int64_t *out = rows->values + rows->n_values;
    for (uint32_t i = 0; i < rows->n_columns; i++) {
        const struct value *value =
            rows->index[i] < row->n ? &row->value[rows->index[i]] : &(struct value){0};
        out[i] = rows->is_rowid[i] && !value->type ? row->rowid : value->number;
    }
    out[rows->n_columns] = (int64_t)(rows->n_values / width);
    rows->n_values += width;
    return 0;
}

static int compare_rows(const void *a, const void *b, void *data)
{
    const int64_t *one = a, *other = b;
    uint32_t last = *(const uint32_t *)data;
    int by_first = (one[0] > other[0]) - (one[0] < other[0]);
    return by_first ? by_first : (one[last] > other[last]) - (one[last] < other[last]);
}

static int find_columns(struct sqlite3 *database, struct sqlite3_stmt *rows, char *names,
                        const struct wanted_table *table)
{
    char *rest = NULL;
    for (char *name = strtok_r(names, ", ", &rest); name; name = strtok_r(NULL, ", ", &rest)) {
        uint32_t i = rows->n_columns++;
        if (i == COLUMNS || !find_column(table->sql, name, &rows->index[i], &rows->is_rowid[i]))
            return fail(database, "no such column: %s", name);
    }
    return 0;
}

int sqlite3_prepare_v2(sqlite3 *database, const char *sql, int size, sqlite3_stmt **out,
                       const char **rest)
{
    char text[256], *names = text + strlen("SELECT ");
    (void)size, (void)rest;
    snprintf(text, sizeof text, "%s", sql);
    char *from = strstr(text, " FROM ");
    *out = NULL;
    if (!from)
        return fail(database, "no such query");
    *from = '\0';
    struct wanted_table table = {.name = from + strlen(" FROM ")};
    from[strlen(" FROM ") + strcspn(table.name, " ")] = '\0';
    struct sqlite3_stmt *rows = *out = calloc(1, sizeof *rows);
    int rc =
        rows ? read_tree(database, 1, note_table, &table) : fail(database, "not enough memory");
    if (!rc && !table.sql)
        rc = fail(database, "no such table: %s", table.name);
    if (!rc && (strstr(table.sql, "--") || strstr(table.sql, "/*")))
        rc = fail(database, "its schema has comments; memtap view opens it");
    if (!rc)
        rc = find_columns(database, rows, names, &table);
    if (!rc)
        rc = read_tree(database, table.root, keep_row, rows);
    if (rc == -ENOMEM)
        rc = fail(database, "not enough memory");
    size_t width = rows ? (rows->n_columns + 1) * sizeof *rows->values : 1;
    if (!rc && strstr(sql, " ORDER BY ") && rows->n_values)
        qsort_r(rows->values, rows->n_values * sizeof *rows->values / width, width, compare_rows,
                &rows->n_columns);
    free(table.sql);
    return rc;
}

int sqlite3_step(sqlite3_stmt *rows)
{
    return (size_t)rows->at++ * (rows->n_columns + 1) < rows->n_values ? SQLITE_ROW : SQLITE_DONE;
}

int64_t sqlite3_column_int64(sqlite3_stmt *rows, int column)
{
    return rows->values[(size_t)(rows->at - 1) * (rows->n_columns + 1) + (size_t)column];
}

int sqlite3_column_int(sqlite3_stmt *rows, int column)
{
    return (int)sqlite3_column_int64(rows, column);
}

int sqlite3_finalize(sqlite3_stmt *rows)
{
    if (rows)
        free(rows->values);
    free(rows);
    return SQLITE_OK;
}

const char *sqlite3_errmsg(sqlite3 *database)
{
    return database ? database->error : "not enough memory";
}

int sqlite3_open_v2(const char *name, sqlite3 **database, int flags, const char *system)
{
    unsigned char head[HEADER];
    struct stat status;
    (void)flags, (void)system;
    struct sqlite3 *self = *database = calloc(1, sizeof *self);
    if (!self)
        return SQLITE_ERROR;
    self->fd = open(name, O_RDONLY | O_CLOEXEC);
    if (self->fd < 0 || fstat(self->fd, &status) || pread(self->fd, head, HEADER, 0) != HEADER)
        return fail(self, "truncated");
    self->page_size = (uint32_t)number_at(head + 16, 2);
    self->page_size = self->page_size == 1 ? 65536 : self->page_size;
    self->usable = self->page_size - head[20];
    if (self->page_size < 512 || self->page_size & (self->page_size - 1) || self->usable < 480)
        return fail(self, "damaged: page size %u", self->page_size);
    if (number_at(head + 56, 4) > 1)
        return fail(self, "its texts are UTF-16; memtap view opens it");
    self->n_pages = (uint32_t)((uint64_t)status.st_size / self->page_size);
    return SQLITE_OK;
}

int sqlite3_close(sqlite3 *database)
{
    if (database && database->fd >= 0)
        close(database->fd);
    free(database);
    return SQLITE_OK;
}
