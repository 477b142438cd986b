/* SPDX-License-Identifier: Apache-2.0 */
#include "join-nsight.h"
#include "analyzer/support/database.h"
#include "analyzer/support/grow.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TEXT (1 << 24) /* bytes of a text; no more is read */
#define NAME_SIZE 4096u
#define TEXTS 5u /* the most that a row has */
#define MOST_DOMAINS 4096u

/* Texts that rows refer to by number. NUMBER: needs no text. DOMAIN: kept in memory. */
enum look_up { NUMBER, STRING, COPY_KIND, MEMORY_KIND, PROCESS, THREAD, LOOK_UPS, DOMAIN };

static const char *const look_up_sql[LOOK_UPS] = {
    [STRING] = "SELECT value FROM StringIds WHERE id = ?",
    [COPY_KIND] = "SELECT label FROM ENUM_CUDA_MEMCPY_OPER WHERE id = ?",
    [MEMORY_KIND] = "SELECT label FROM ENUM_CUDA_MEM_KIND WHERE id = ?",
    [PROCESS] = "SELECT name FROM PROCESSES WHERE globalPid = ? LIMIT 1",
    [THREAD] = "SELECT value FROM ThreadNames JOIN StringIds ON id = nameId WHERE globalTid = ? "
               "ORDER BY priority DESC LIMIT 1",
};

/* Nsight's numbers of NVTX's events (ENUM_NSYS_EVENT_TYPE). */
enum { NVTX_MARK = 34, NVTX_PUSH_POP = 59, NVTX_START_END = 60, NVTX_DOMAIN = 75 };

/* Of each selected row: start, end, process or thread, device, stream; what the kind needs;
 * fields. */
enum {
    START,
    END,
    GLOBAL,
    DEVICE,
    STREAM,
    FIXED,
    OWN = 3,
    COLUMNS = FIXED + OWN + (int)MT_NSIGHT_FIELDS
};

/* The tables that are read. Releases lack columns, or whole tables. */
static const struct table {
    const char *name;
    enum mt_nsight_kind kind;
    const char *global;   /* the column with the process, or the thread */
    const char *own[OWN]; /* what fill_kind needs */
    struct {
        const char *column, *name;
        enum look_up look_up;
    } field[MT_NSIGHT_FIELDS];
} tables[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     MT_NSIGHT_KERNEL,
     "globalPid",
     {"shortName"},
     {{"demangledName", "full name", STRING},
      {"gridX", "grid x", NUMBER},
      {"gridY", "grid y", NUMBER},
      {"gridZ", "grid z", NUMBER},
      {"blockX", "block x", NUMBER},
      {"blockY", "block y", NUMBER},
      {"blockZ", "block z", NUMBER},
      {"registersPerThread", "registers per thread", NUMBER},
      {"staticSharedMemory", "static shared memory bytes", NUMBER},
      {"dynamicSharedMemory", "dynamic shared memory bytes", NUMBER},
      {"graphNodeId", "graph node", NUMBER},
      {"correlationId", "correlation", NUMBER}}},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     MT_NSIGHT_COPY,
     "globalPid",
     {"copyKind"},
     {{"bytes", "bytes", NUMBER},
      {"srcKind", "from", MEMORY_KIND},
      {"dstKind", "to", MEMORY_KIND},
      {"srcDeviceId", "from device", NUMBER},
      {"dstDeviceId", "to device", NUMBER},
      {"graphNodeId", "graph node", NUMBER},
      {"correlationId", "correlation", NUMBER}}},
    {"CUPTI_ACTIVITY_KIND_MEMSET",
     MT_NSIGHT_SET,
     "globalPid",
     {NULL},
     {{"bytes", "bytes", NUMBER},
      {"value", "value", NUMBER},
      {"memKind", "memory", MEMORY_KIND},
      {"graphNodeId", "graph node", NUMBER},
      {"correlationId", "correlation", NUMBER}}},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
     MT_NSIGHT_GRAPH,
     "globalPid",
     {NULL},
     {{"graphId", "graph", NUMBER}, {"correlationId", "correlation", NUMBER}}},
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     MT_NSIGHT_CALL,
     "globalTid",
     {"nameId"},
     {{"returnValue", "result", NUMBER}, {"correlationId", "correlation", NUMBER}}},
    {"NVTX_EVENTS",
     MT_NSIGHT_RANGE,
     "globalTid",
     {"textId", "text", "eventType"},
     {{"domainId", "domain", DOMAIN}}},
};

struct mt_nsight {
    sqlite3 *database;
    sqlite3_stmt *look_up[LOOK_UPS];
    char *error;
    size_t error_size;
    uint64_t start_ns;
    struct domain {
        uint64_t process; /* as mt_nsight_process reports it */
        int64_t number;
        char name[64];
    } *domain;
    size_t n_domains, domains_capacity;
    char text[TEXTS][NAME_SIZE]; /* of the row */
    unsigned texts;
};

static int fail(const struct mt_nsight *nsight, const char *what)
{
    snprintf(nsight->error, nsight->error_size, "%s: %.200s", what,
             sqlite3_errmsg(nsight->database));
    return sqlite3_errcode(nsight->database) == SQLITE_NOMEM ? -ENOMEM : -EINVAL;
}

static bool has_column(const struct mt_nsight *nsight, const char *table, const char *column)
{
    return !sqlite3_table_column_metadata(nsight->database, NULL, table, column, NULL, NULL, NULL,
                                          NULL, NULL);
}

static int read_start(struct mt_nsight *nsight)
{
    sqlite3_stmt *row = NULL;
    if (!has_column(nsight, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs"))
        return 0;
    int rc = sqlite3_prepare_v2(
        nsight->database, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME", -1, &row, NULL);
    if (!rc && sqlite3_step(row) == SQLITE_ROW && sqlite3_column_int64(row, 0) > 0)
        nsight->start_ns = (uint64_t)sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return rc ? fail(nsight, "cannot read the table of the session's start") : 0;
}

static const char *const no_views[] = {NULL};

int mt_nsight_open(struct mt_nsight **result, const char *path, char *error, size_t size)
{
    struct mt_nsight *nsight = *result = calloc(1, sizeof *nsight);
    if (!nsight)
        return -ENOMEM;
    nsight->error = error;
    nsight->error_size = size;
    if (mt_database_open(&nsight->database, path, SQLITE_OPEN_READONLY, no_views))
        return fail(nsight, "cannot be opened as a database");
    sqlite3_limit(nsight->database, SQLITE_LIMIT_LENGTH, MOST_TEXT);
    /* The first access to the file itself. Sorting uses a temporary file, too. */
    if (sqlite3_exec(nsight->database, "PRAGMA temp_store = FILE; SELECT 1 FROM sqlite_master",
                     NULL, NULL, NULL))
        return fail(nsight, "cannot be read as a database");
    return read_start(nsight);
}

void mt_nsight_close(struct mt_nsight *nsight)
{
    for (unsigned i = 0; nsight && i < LOOK_UPS; i++)
        sqlite3_finalize(nsight->look_up[i]);
    if (nsight) {
        sqlite3_close(nsight->database);
        free(nsight->domain);
    }
    free(nsight);
}

uint64_t mt_nsight_start(const struct mt_nsight *nsight)
{
    return nsight->start_ns;
}

static char *next_text(struct mt_nsight *nsight)
{
    char *text = nsight->text[nsight->texts++ % TEXTS];
    *text = '\0';
    return text;
}

/* Return the text with this number, or "" if there is none or the file has no such table. */
static const char *text_of(struct mt_nsight *nsight, enum look_up look_up, int64_t number)
{
    sqlite3_stmt **row = &nsight->look_up[look_up];
    char *to = next_text(nsight);
    if (!*row && sqlite3_prepare_v2(nsight->database, look_up_sql[look_up], -1, row, NULL))
        return to;
    sqlite3_bind_int64(*row, 1, number);
    const unsigned char *text =
        sqlite3_step(*row) == SQLITE_ROW ? sqlite3_column_text(*row, 0) : NULL;
    snprintf(to, NAME_SIZE, "%s", text ? (const char *)text : "");
    sqlite3_reset(*row);
    return to;
}

/* Return the text of a column, if it has one. */
static const char *text_in(struct mt_nsight *nsight, enum look_up look_up, sqlite3_stmt *columns,
                           int column)
{
    return sqlite3_column_type(columns, column) == SQLITE_NULL
               ? next_text(nsight)
               : text_of(nsight, look_up, sqlite3_column_int64(columns, column));
}

const char *mt_nsight_process_name(struct mt_nsight *nsight, uint64_t global)
{
    return text_of(nsight, PROCESS, (int64_t)(global & ~UINT64_C(0xffffff)));
}

const char *mt_nsight_thread_name(struct mt_nsight *nsight, uint64_t global)
{
    return text_of(nsight, THREAD, (int64_t)global);
}

static const char *domain_of(const struct mt_nsight *nsight, uint64_t global, int64_t number)
{
    for (size_t i = 0; i < nsight->n_domains; i++)
        if (nsight->domain[i].number == number &&
            nsight->domain[i].process == mt_nsight_process(global))
            return nsight->domain[i].name;
    return "";
}

/* Return the name. Copies are named by their kind, and calls lose the runtime's version
 * ("cudaMalloc_v3020"). */
static const char *name_of(struct mt_nsight *nsight, const struct table *table,
                           sqlite3_stmt *columns)
{
    const char *text;
    char *name;
    switch (table->kind) {
    case MT_NSIGHT_KERNEL:
    case MT_NSIGHT_CALL:
        text = text_in(nsight, STRING, columns, FIXED);
        if (table->kind == MT_NSIGHT_CALL) {
            char *version = strstr((char *)text, "_v");
            if (version && strlen(version) > 5 &&
                strspn(version + 2, "0123456789") == strlen(version + 2))
                *version = '\0';
        }
        return *text ? text : table->kind == MT_NSIGHT_CALL ? "CUDA call" : "kernel";
    case MT_NSIGHT_COPY:
        text = text_in(nsight, COPY_KIND, columns, FIXED);
        name = next_text(nsight);
        snprintf(name, NAME_SIZE, "Memcpy %.200s", text);
        return *text ? name : "Memcpy";
    case MT_NSIGHT_SET:
        return "Memset";
    case MT_NSIGHT_GRAPH:
        return "CUDA graph";
    default:
        text = (const char *)sqlite3_column_text(columns, FIXED + 1);
        return text ? text : text_in(nsight, STRING, columns, FIXED);
    }
}

static void add_fields(struct mt_nsight *nsight, const struct table *table, sqlite3_stmt *columns,
                       struct mt_nsight_row *row)
{
    for (unsigned i = 0; i < MT_NSIGHT_FIELDS && table->field[i].name; i++) {
        int at = FIXED + OWN + (int)i;
        int64_t number = sqlite3_column_int64(columns, at);
        enum look_up look_up = table->field[i].look_up;
        const char *text = look_up == NUMBER   ? NULL
                           : look_up == DOMAIN ? domain_of(nsight, row->global, number)
                                               : text_of(nsight, look_up, number);
        if (sqlite3_column_type(columns, at) == SQLITE_NULL ||
            (text && (!*text || !strcmp(text, row->name))) || number < 0)
            continue;
        row->field[row->fields].name = table->field[i].name;
        row->field[row->fields].text = text;
        row->field[row->fields++].number = (uint64_t)number;
    }
}

/* Fill a row. Return false if it is not to be shown. */
static bool fill(struct mt_nsight *nsight, const struct table *table, sqlite3_stmt *columns,
                 struct mt_nsight_row *row)
{
    int type = sqlite3_column_int(columns, FIXED + 2);
    row->kind = table->kind;
    row->fields = nsight->texts = 0;
    row->start_ns = sqlite3_column_int64(columns, START);
    row->end_ns = sqlite3_column_int64(columns, END);
    row->has_end = sqlite3_column_type(columns, END) != SQLITE_NULL && row->end_ns >= row->start_ns;
    row->global = (uint64_t)sqlite3_column_int64(columns, GLOBAL);
    row->device = sqlite3_column_int64(columns, DEVICE);
    row->stream = sqlite3_column_int64(columns, STREAM);
    if (table->kind == MT_NSIGHT_RANGE) {
        if (type != NVTX_MARK && type != NVTX_PUSH_POP && type != NVTX_START_END)
            return false;
        row->kind = type == NVTX_MARK        ? MT_NSIGHT_MARK
                    : type == NVTX_START_END ? MT_NSIGHT_SPAN
                                             : MT_NSIGHT_RANGE;
    } else if (!row->start_ns && !row->end_ns) {
        return false; /* CUDA gave it no time */
    }
    row->name = name_of(nsight, table, columns);
    add_fields(nsight, table, columns, row);
    return true;
}

/* Write "SELECT start, [end], ..." for the columns that the file has. Return 0 if it lacks the
 * table. */
static size_t write_sql(const struct mt_nsight *nsight, const struct table *table, char *sql,
                        size_t size)
{
    const char *columns[COLUMNS] = {"start", "end", table->global, "deviceId", "streamId"};
    size_t n = (size_t)snprintf(sql, size, "SELECT");
    if (!has_column(nsight, table->name, "start"))
        return 0;
    for (unsigned i = 0; i < OWN; i++)
        columns[FIXED + i] = table->own[i];
    for (unsigned i = 0; i < MT_NSIGHT_FIELDS; i++)
        columns[FIXED + OWN + i] = table->field[i].column;
    for (unsigned i = 0; i < COLUMNS; i++) {
        bool is_there = columns[i] && has_column(nsight, table->name, columns[i]);
        n += (size_t)snprintf(sql + n, size - n, is_there ? "%s [%s]" : "%s NULL", i ? "," : "",
                              columns[i]);
    }
    return n +
           (size_t)snprintf(sql + n, size - n, " FROM [%s] ORDER BY start, 2 DESC", table->name);
}

static int read_table(struct mt_nsight *nsight, const struct table *table, mt_nsight_taker *take,
                      void *data)
{
    struct mt_nsight_row row;
    char sql[1200], what[80];
    sqlite3_stmt *columns = NULL;
    int step, rc = 0;
    if (!write_sql(nsight, table, sql, sizeof sql))
        return 0;
    snprintf(what, sizeof what, "cannot read table %s", table->name);
    if (sqlite3_prepare_v2(nsight->database, sql, -1, &columns, NULL))
        return fail(nsight, what);
    while (!rc && (step = sqlite3_step(columns)) != SQLITE_DONE) {
        if (step != SQLITE_ROW)
            rc = fail(nsight, what);
        else if (fill(nsight, table, columns, &row))
            rc = take(data, &row);
    }
    sqlite3_finalize(columns);
    return rc;
}

/* Read the domains. They are few, and an event only has the number of its domain. */
static int read_domains(struct mt_nsight *nsight)
{
    static const char sql[] =
        "SELECT globalTid, domainId, text, textId FROM NVTX_EVENTS WHERE eventType = ? LIMIT ?";
    sqlite3_stmt *columns = NULL;
    if (sqlite3_prepare_v2(nsight->database, sql, -1, &columns, NULL))
        return 0; /* an older file has no domains */
    sqlite3_bind_int(columns, 1, NVTX_DOMAIN);
    sqlite3_bind_int(columns, 2, MOST_DOMAINS);
    while (sqlite3_step(columns) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(columns, 2);
        if (MT_GROW(nsight->domain, nsight->domains_capacity, nsight->n_domains))
            break;
        struct domain *domain = &nsight->domain[nsight->n_domains++];
        domain->process = mt_nsight_process((uint64_t)sqlite3_column_int64(columns, 0));
        domain->number = sqlite3_column_int64(columns, 1);
        snprintf(domain->name, sizeof domain->name, "%s",
                 text ? text : text_of(nsight, STRING, sqlite3_column_int64(columns, 3)));
    }
    return sqlite3_finalize(columns) ? fail(nsight, "cannot read table NVTX_EVENTS") : 0;
}

int mt_nsight_read(struct mt_nsight *nsight, mt_nsight_taker *take, void *data)
{
    int rc = read_domains(nsight);
    for (unsigned i = 0; i < sizeof tables / sizeof *tables && !rc; i++)
        rc = read_table(nsight, &tables[i], take, data);
    return rc;
}
