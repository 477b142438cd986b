/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A history, in memory, whose values somebody has changed: eight nights of a job of two ranks, then
 * for each eight bytes of the input a value of any type in some row and column, or a byte of the
 * file. Everything is read from it, another night is added, and all is forgotten. What SQLite
 * refuses is told.
 */
#include "compare/history/history.h"
#include "compare/history/trend.h"
#include "made-trace.h"
#include "outputs.h"
#include "target.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NIGHTS 8u
#define DAY (86400ull * 1000000000)
#define BEGIN (1700000000ull * 1000000000)

static unsigned char *image;
static sqlite3_int64 image_size;

static int add_night(struct mt_store *store, unsigned night, long rank, const char *text)
{
    struct mt_digest_site site = {.category = MT_CATEGORY_ACTIVATIONS,
                                  .function = (char[]){"f"},
                                  .file = (char[64]){""},
                                  .line = 10 + night,
                                  .operator_name = (char[]){""},
                                  .module = (char[]){""},
                                  .bytes = 1000 + night * night,
                                  .blocks = 1};
    struct mt_digest_device device = {.allocated = 100000 + night * night,
                                      .most_reserved = 200000,
                                      .phase = MT_PHASE_FORWARD,
                                      .site = &site,
                                      .n_sites = 1};
    struct mt_new_trace trace = {.commit = text, .branch = "main"};
    int64_t run;
    bool is_new;
    snprintf(site.file, 64, "/build/%u/net.py", night);
    device.category[MT_CATEGORY_ACTIVATIONS] = site.bytes;
    device.most_in_phase[MT_PHASE_FORWARD] = device.allocated;
    trace.digest = (struct mt_digest){.program = (char[]){"/home/train.py"},
                                      .started_unix_ns = BEGIN + night * DAY + (uint64_t)rank,
                                      .rank = rank,
                                      .world_size = 2,
                                      .complete = 1,
                                      .devices = &device,
                                      .n_devices = 1};
    snprintf(trace.path, sizeof trace.path, "/traces/%u.mtap", night);
    snprintf(trace.checksum, sizeof trace.checksum, "%u of %ld", night, rank);
    return mt_history_add(store, &trace, &run, &is_new, NULL);
}

static void must(struct mt_store *store, int rc)
{
    if (!rc)
        return;
    fprintf(stderr, "%s\n", store->error);
    abort();
}

/* One whose texts are told, to be changed and read. */
static void make_image(void)
{
    struct mt_store store = {.path = "fuzz"};
    must(&store, sqlite3_open(":memory:", &store.db));
    must(&store, mt_store_migrate(&store, mt_schema_steps, mt_schema_version));
    for (unsigned night = 0; night < NIGHTS; night++)
        for (long rank = 0; rank < 2; rank++)
            must(&store, add_night(&store, night, rank, night < 5 ? "old" : "new"));
    image = sqlite3_serialize(store.db, "main", &image_size, 0);
    mt_store_close(&store);
    if (!image)
        abort();
}

static void change(struct mt_store *store, unsigned char *file, const uint8_t *choice)
{
    static const char *const columns[] = {
        "run SET started",      "run SET length",
        "run SET program",      "run SET command",
        "run SET host",         "run SET commit_id",
        "run SET branch",       "run SET device",
        "run SET allocator",    "run SET memtap",
        "run SET world_size",   "run SET events",
        "run SET lost",         "run SET complete",
        "trace SET run",        "trace SET path",
        "trace SET sha256",     "trace SET size",
        "trace SET kept",       "trace SET rank",
        "trace SET ended",      "trace SET ended_text",
        "device SET trace",     "device SET number",
        "device SET allocated", "device SET most_reserved",
        "device SET phase",     "device SET iteration",
        "device SET growth",    "device SET at_end",
        "category SET name",    "category SET size",
        "phase SET name",       "phase SET allocated",
        "name SET text",        "site SET category",
        "site SET function",    "site SET file",
        "site SET line",        "site SET module",
        "site SET size",        "site SET blocks",
        "site SET device",
    };
    static const char *const values[] = {"?1",         "-?1",           "NULL",
                                         "?1 + 0.5",   "x'ff00c080'",   "'a'",
                                         "1e300 * ?1", "'9e999' || ?1", "zeroblob(?1 % 1000)"};
    static const char *const texts[] = {
        "whole", "oom", "a\x1b[31m\n::error::", "", "\xff\xc0\x80", "activations", "forward", "0"};
    uint64_t value = mt_made_number(choice[2] | (unsigned)choice[3] << 8);
    if (choice[0] == 255) {
        file[value % (uint64_t)image_size] = choice[4];
        return;
    }
    char sql[256];
    const char *column = columns[choice[0] % (sizeof columns / sizeof *columns)];
    char *text = choice[1] & 128
                     ? sqlite3_mprintf("%Q", texts[choice[1] % (sizeof texts / sizeof *texts)])
                     : sqlite3_mprintf("%s", values[choice[1] % (sizeof values / sizeof *values)]);
    snprintf(sql, sizeof sql, "UPDATE %.*s = %s WHERE ?2 = 0 OR rowid = ?2", (int)sizeof sql - 80,
             column, text);
    sqlite3_free(text);
    sqlite3_stmt *statement = NULL; /* WITHOUT ROWID: all rows */
    if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL)) {
        *strstr(sql, " OR rowid") = '\0';
        if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL))
            return;
    }
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)value);
    sqlite3_bind_int64(statement, 2, choice[5] % 17);
    sqlite3_step(statement); /* it may be refused */
    sqlite3_finalize(statement);
}

static void forgotten(void *user, const char *path)
{
    (void)user;
    if (!path)
        abort();
}

static void show(struct mt_store *store, const struct mt_runs *runs, unsigned choice)
{
    FILE *out = mt_safe_output();
    if (choice & 1)
        mt_runs_text(runs, out, &mt_plain_style);
    else if (mt_runs_json(runs, out))
        abort();
    for (size_t i = 0; i < runs->n && i < 2; i++)
        if (choice & 2)
            mt_run_text(store, &runs->run[i], out, &mt_plain_style);
        else
            mt_run_json(store, &runs->run[i], out);
}

static void read_all(struct mt_store *store, const uint8_t *choices)
{
    struct mt_runs runs = {0};
    struct mt_trend trend = {0};
    struct mt_run_filter filter = {.branch = choices[1] & 1 ? "main" : NULL,
                                   .program = choices[1] & 2 ? "train.py" : NULL,
                                   .last = choices[1] & 4 ? choices[2] : 0,
                                   .allowed = (mt_allowed_ends)(choices[1] >> 4)};
    if (choices[0] & 4) {
        if (!mt_trend_find(&trend, store, &filter)) {
            if (choices[0] & 1)
                mt_trend_text(&trend, store, mt_safe_output(), &mt_plain_style);
            else
                mt_trend_json(&trend, store, mt_safe_output());
        }
        mt_trend_clear(&trend);
        return;
    }
    if (!mt_history_runs(store, &filter, &runs)) {
        show(store, &runs, choices[0]);
        add_night(store, choices[2] % 16, choices[3] % 3, "later");
        if (choices[0] & 8)
            mt_history_forget(store, &runs, forgotten, NULL);
    }
    mt_runs_clear(&runs);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct mt_store store = {.path = "fuzz"};
    if (!image)
        make_image();
    if (size < 8)
        return 0;
    unsigned char *file = sqlite3_malloc64((sqlite3_uint64)image_size);
    if (!file || sqlite3_open(":memory:", &store.db))
        abort();
    memcpy(file, image, (size_t)image_size);
    if (sqlite3_deserialize(store.db, "main", file, image_size, image_size,
                            SQLITE_DESERIALIZE_FREEONCLOSE))
        abort();
    for (size_t at = 8; at + 8 <= size && at < 8 * 40; at += 8)
        change(&store, file, bytes + at);
    if (!mt_store_migrate(&store, mt_schema_steps, mt_schema_version))
        read_all(&store, bytes);
    if (store.failed && !*store.error)
        abort();
    mt_store_close(&store);
    return 0;
}
