/* SPDX-License-Identifier: Apache-2.0 */
/* compare/history/store.h, history.h and trend.h, with digests that are made by hand. */
#include "compare/history/history.h"
#include "compare/history/trend.h"
#include "tests/support/run-tests.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (1024ull * 1024)
#define DAY (86400ull * 1000000000)
#define BEGIN (1700000000ull * 1000000000)

static struct mt_store store;
static char path[64];

static void open_new(void)
{
    snprintf(path, sizeof path, "test-history-%d.db", (int)getpid());
    unlink(path);
    ck_assert_msg(!mt_store_open(&store, path, MT_STORE_WRITE, 0), "%s", store.error);
}

static void close_and_remove(void)
{
    char name[80];
    mt_store_close(&store);
    for (const char *const *suffix = (const char *const[]){"", "-wal", "-shm", NULL}; *suffix;
         suffix++) {
        snprintf(name, sizeof name, "%s%s", path, *suffix);
        unlink(name);
    }
}

/* One site of activations on one device; rank -1: no job. Returns the run. */
static int64_t add_night(unsigned night, uint64_t activations, long rank, bool *is_new)
{
    struct mt_digest_site site = {.category = MT_CATEGORY_ACTIVATIONS,
                                  .function = (char[]){"f"},
                                  .file = (char[64]){""},
                                  .line = 10 + night,
                                  .operator_name = (char[]){""},
                                  .module = (char[]){""},
                                  .bytes = activations,
                                  .blocks = 1};
    struct mt_digest_device device = {.allocated = 100 * MIB + activations,
                                      .most_reserved = 200 * MIB,
                                      .phase = MT_PHASE_FORWARD,
                                      .site = &site,
                                      .n_sites = 1};
    struct mt_new_trace trace = {.commit = night < 5 ? "old" : "new", .branch = "main"};
    int64_t run;
    snprintf(site.file, 64, "/build/%u/net.py", night);
    device.category[MT_CATEGORY_ACTIVATIONS] = activations;
    device.category[MT_CATEGORY_PARAMETERS] = 100 * MIB;
    device.most_in_phase[MT_PHASE_FORWARD] = device.allocated;
    trace.digest = (struct mt_digest){.program = (char[]){"/home/train.py"},
                                      .torch = night < 5 ? (char[]){"2.14"} : (char[]){"2.15"},
                                      .started_unix_ns = BEGIN + night * DAY + (uint64_t)(rank + 1),
                                      .rank = rank,
                                      .world_size = rank < 0 ? -1 : 2,
                                      .complete = 1,
                                      .devices = &device,
                                      .n_devices = 1};
    snprintf(trace.path, sizeof trace.path, "/traces/%u.mtap", night);
    snprintf(trace.checksum, sizeof trace.checksum, "%u of %ld", night, rank);
    ck_assert_msg(!mt_history_add(&store, &trace, &run, is_new, NULL), "%s", store.error);
    return run;
}

static int64_t count(const char *table)
{
    char sql[64];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    return mt_sql_number(&store, -1, sql, "");
}

START_TEST(runs_come_back)
{
    struct mt_runs runs;
    bool is_new;
    open_new();
    add_night(2, 7 * MIB, -1, &is_new);
    ck_assert_int_eq(is_new, 1);
    add_night(1, 5 * MIB, -1, &is_new);
    ck_assert_int_eq(add_night(2, 7 * MIB, -1, &is_new), 1);
    ck_assert_int_eq(is_new, 0);
    ck_assert_int_eq(mt_history_runs(&store, &(struct mt_run_filter){.program = "train.py"}, &runs),
                     0);
    ck_assert_uint_eq(runs.n, 2);
    ck_assert_int_eq(runs.run[0].id, 2); /* it began first */
    ck_assert_uint_eq(runs.run[1].bytes[MT_SERIES_PEAK], 107 * MIB);
    ck_assert_uint_eq(runs.run[1].bytes[MT_SERIES_CATEGORY + MT_CATEGORY_ACTIVATIONS], 7 * MIB);
    ck_assert_uint_eq(runs.run[1].most_in_phase[MT_PHASE_FORWARD], 107 * MIB);
    ck_assert_str_eq(runs.run[1].text[MT_RUN_TORCH], "2.14");
    ck_assert_str_eq(mt_run_program(runs.run), "train.py");
    mt_runs_clear(&runs);
    ck_assert_int_eq(mt_history_runs(&store, &(struct mt_run_filter){.program = "rain.py"}, &runs),
                     0);
    ck_assert_uint_eq(runs.n, 0);
    mt_runs_clear(&runs);
    close_and_remove();
}
END_TEST

/* A process's trace while it runs, and when it has ended. */
static int64_t add_process(long pid, uint64_t began, bool is_complete, uint64_t events)
{
    static unsigned n;
    int64_t run;
    bool is_new;
    struct mt_new_trace trace = {.commit = "c", .branch = ""};
    struct mt_digest_device device = {.device = 0, .allocated = events};
    trace.digest = (struct mt_digest){.program = (char[]){"train.py"},
                                      .host = (char[]){"box"},
                                      .started_unix_ns = began,
                                      .pid = pid,
                                      .rank = -1,
                                      .world_size = -1,
                                      .complete = is_complete,
                                      .events = events,
                                      .devices = &device,
                                      .n_devices = 1};
    trace.digest.ended.how = is_complete ? MT_ENDED_WHOLE : MT_ENDED_RUNNING;
    snprintf(trace.path, sizeof trace.path, "/traces/t.mtap");
    snprintf(trace.checksum, sizeof trace.checksum, "state %u", n++);
    ck_assert_msg(!mt_history_add(&store, &trace, &run, &is_new, NULL), "%s", store.error);
    ck_assert(is_new);
    return run;
}

START_TEST(a_trace_that_has_gone_on_replaces_itself)
{
    open_new();
    int64_t run = add_process(12, BEGIN, 0, 100);
    ck_assert_int_eq(add_process(12, BEGIN + 3000, 0, 300), run);
    ck_assert_int_ne(add_process(13, BEGIN, 0, 50), run);       /* another process */
    ck_assert_int_ne(add_process(12, BEGIN + DAY, 1, 50), run); /* with a number used again */
    ck_assert_int_eq(add_process(12, BEGIN + 3000, 1, 500), run);
    ck_assert_int_eq(count("trace"), 3);
    ck_assert_int_eq(count("run"), 3);
    ck_assert_int_eq(mt_sql_number(&store, 0, "SELECT events FROM run WHERE id = ?", "i", run),
                     500);
    ck_assert_int_eq(mt_sql_number(&store, 0, "SELECT complete FROM run WHERE id = ?", "i", run),
                     1);
    ck_assert_int_ne(add_process(12, BEGIN + 3000, 1, 501),
                     run); /* nothing changes what is whole */
    close_and_remove();
}
END_TEST

START_TEST(ranks_of_a_job_are_a_run)
{
    struct mt_runs runs;
    bool is_new;
    open_new();
    int64_t first = add_night(1, 5 * MIB, 0, &is_new);
    ck_assert_int_eq(add_night(1, 6 * MIB, 1, &is_new), first);
    ck_assert_int_ne(add_night(2, 5 * MIB, 1, &is_new), first);
    ck_assert_int_eq(mt_history_runs(&store, &(struct mt_run_filter){.id = first}, &runs), 0);
    ck_assert_uint_eq(runs.n, 1);
    ck_assert_uint_eq(runs.run->n_traces, 2);
    ck_assert_uint_eq(runs.run->bytes[MT_SERIES_PEAK], 106 * MIB);
    mt_runs_clear(&runs);
    close_and_remove();
}
END_TEST

static void no_copies(void *user, const char *kept)
{
    (void)user;
    ck_abort_msg("%s was no copy", kept);
}

START_TEST(what_is_forgotten_is_gone)
{
    struct mt_runs runs;
    bool is_new;
    open_new();
    add_night(1, 5 * MIB, 0, &is_new);
    add_night(1, 5 * MIB, 1, &is_new);
    ck_assert_int_eq(mt_history_runs(&store, &(struct mt_run_filter){0}, &runs), 0);
    ck_assert_int_eq(mt_history_forget(&store, &runs, no_copies, NULL), 0);
    mt_runs_clear(&runs);
    static const char *const tables[] = {"run",   "trace", "device", "category",
                                         "phase", "site",  "name"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        ck_assert_msg(count(tables[i]) == 0, "%s", tables[i]);
    ck_assert_int_eq(add_night(2, 5 * MIB, -1, &is_new), 2); /* numbers do not come again */
    close_and_remove();
}
END_TEST

START_TEST(a_step_is_reported_with_its_causes)
{
    struct mt_trend trend;
    struct mt_site_changes changes;
    bool is_new;
    open_new();
    for (unsigned night = 0; night < 10; night++)
        add_night(night, (night < 5 ? 50 : 60) * MIB, -1, &is_new);
    ck_assert_int_eq(mt_trend_find(&trend, &store, &(struct mt_run_filter){.last = 60}), 0);
    ck_assert_uint_eq(trend.runs.n, 10);
    ck_assert_uint_eq(trend.n_steps, 1);
    ck_assert_uint_eq(trend.step->at, 5);
    ck_assert(trend.step->of[MT_SERIES_PEAK] != NULL);
    ck_assert(trend.step->of[MT_SERIES_CATEGORY + MT_CATEGORY_ACTIVATIONS] != NULL);
    ck_assert(trend.step->of[MT_SERIES_RESERVED] == NULL);
    const struct mt_run *before = &trend.runs.run[4], *after = before + 1;
    ck_assert_str_eq(before->text[MT_RUN_COMMIT], "old");
    ck_assert_str_eq(after->text[MT_RUN_COMMIT], "new");
    /* The file is in another folder each night, and its lines move. */
    ck_assert_int_eq(mt_site_changes_find(&changes, &store, before->id, after->id, 9), 0);
    ck_assert_uint_eq(changes.n, 1);
    ck_assert_uint_eq(changes.site->before, 50 * MIB);
    ck_assert_uint_eq(changes.site->after, 60 * MIB);
    ck_assert_uint_eq(changes.site->line, 15);
    mt_site_changes_clear(&changes);
    mt_trend_clear(&trend);
    close_and_remove();
}
END_TEST

/* A site as two nights have it; name: of function, with the file's. */
static void add_renamed(unsigned night, const char *const names[][2], const uint64_t *bytes,
                        size_t n)
{
    static char empty[] = ""; /* the digest's strings are its own to change */
    struct mt_digest_site site[4];
    struct mt_digest_device device = {.allocated = MIB, .site = site, .n_sites = n};
    struct mt_new_trace trace = {.commit = "c", .branch = "b"};
    int64_t run;
    bool is_new;
    for (size_t i = 0; i < n; i++)
        site[i] = (struct mt_digest_site){.category = MT_CATEGORY_ACTIVATIONS,
                                          .file = (char *)names[i][0],
                                          .function = (char *)names[i][1],
                                          .line = 10,
                                          .operator_name = empty,
                                          .module = empty,
                                          .bytes = bytes[i],
                                          .blocks = 1};
    trace.digest = (struct mt_digest){.program = (char[]){"/home/train.py"},
                                      .started_unix_ns = BEGIN + night * DAY,
                                      .rank = -1,
                                      .world_size = -1,
                                      .complete = 1,
                                      .devices = &device,
                                      .n_devices = 1};
    snprintf(trace.checksum, sizeof trace.checksum, "%u", night);
    ck_assert_msg(!mt_history_add(&store, &trace, &run, &is_new, NULL), "%s", store.error);
}

/* Two functions get other names in the night in which a third one grows. */
START_TEST(renamed_sites_are_no_change)
{
    static const char *const before[][2] = {
        {"/a/net.py", "Net.forward"}, {"/a/net.py", "Net.loss"}, {"/a/data.py", "load"}};
    static const char *const after[][2] = {
        {"/b/net.py", "Model.forward"}, {"/b/losses.py", "Net.loss"}, {"/b/data.py", "load"}};
    struct mt_site_changes changes;
    open_new();
    add_renamed(1, before, (const uint64_t[]){90 * MIB, 70 * MIB, 5 * MIB}, 3);
    add_renamed(2, after, (const uint64_t[]){90 * MIB, 72 * MIB, 15 * MIB}, 3);
    ck_assert_int_eq(mt_site_changes_find(&changes, &store, 1, 2, 9), 0);
    ck_assert_uint_eq(changes.n, 2);
    ck_assert_str_eq(changes.site[0].function, "load");
    ck_assert_ptr_null(changes.site[0].was);
    ck_assert_str_eq(changes.site[1].file, "losses.py");
    ck_assert_str_eq(changes.site[1].was, "net.py Net.loss");
    ck_assert_uint_eq(changes.site[1].after - changes.site[1].before, 2 * MIB);
    mt_site_changes_clear(&changes);
    close_and_remove();
}
END_TEST

/* Noise moves the step of one series by a night: it is reported as one. */
START_TEST(one_cause_is_one_step)
{
    static const uint64_t noise[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4};
    struct mt_trend trend;
    bool is_new;
    open_new();
    for (unsigned night = 0; night < 20; night++)
        add_night(night, (night < 12 ? 500 : 600) * MIB + noise[night] * MIB, -1, &is_new);
    ck_assert_int_eq(mt_trend_find(&trend, &store, &(struct mt_run_filter){.last = 60}), 0);
    ck_assert_uint_eq(trend.n_steps, 1);
    ck_assert_uint_eq(trend.step->at, 12);
    mt_trend_clear(&trend);
    close_and_remove();
}
END_TEST

static const char *const made_up[] = {"CREATE TABLE a (x); INSERT INTO a VALUES (1)",
                                      "ALTER TABLE a ADD COLUMN y; UPDATE a SET y = x + 1",
                                      "CREATE TABLE b AS SELECT y FROM a; NO SUCH STATEMENT"};

static void open_bare(void)
{
    snprintf(path, sizeof path, "test-history-%d.db", (int)getpid());
    unlink(path);
    store = (struct mt_store){.path = path};
    ck_assert_int_eq(sqlite3_open(path, &store.db), SQLITE_OK);
}

static unsigned mode_of(const char *suffix)
{
    char name[80];
    struct stat status;
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return stat(name, &status) ? 0 : status.st_mode & 0777;
}

/* One that is there may be a team's: its owner's choice. */
START_TEST(a_new_history_is_its_owners_alone)
{
    bool is_new;
    mode_t before = umask(022);
    open_new();
    ck_assert_uint_eq(mode_of(""), 0600);
    mt_store_close(&store);
    ck_assert_int_eq(chmod(path, 0664), 0);
    ck_assert_msg(!mt_store_open(&store, path, MT_STORE_WRITE, 0), "%s", store.error);
    add_night(1, MIB, -1, &is_new);
    ck_assert_uint_eq(mode_of(""), 0664);
    ck_assert_uint_eq(mode_of("-wal"), 0664);
    umask(before);
    close_and_remove();
}
END_TEST

START_TEST(versions_follow_each_other)
{
    open_bare();
    ck_assert_int_eq(mt_store_migrate(&store, made_up, 1), 0);
    ck_assert_int_eq(mt_sql_number(&store, 0, "PRAGMA user_version", ""), 1);
    ck_assert_int_eq(mt_store_migrate(&store, made_up, 2), 0);
    ck_assert_int_eq(mt_sql_number(&store, 0, "PRAGMA user_version", ""), 2);
    ck_assert_int_eq(mt_sql_number(&store, 0, "SELECT y FROM a", ""), 2);
    /* A step that fails leaves all as it was. */
    ck_assert_int_eq(mt_store_migrate(&store, made_up, 3), -1);
    ck_assert(store.error[0] != '\0');
    store.failed = 0;
    ck_assert_int_eq(mt_sql_number(&store, 0, "PRAGMA user_version", ""), 2);
    ck_assert_int_eq(mt_sql_number(&store, 0, "SELECT count(*) FROM sqlite_master", ""), 1);
    /* And an older memtap keeps off. */
    ck_assert_int_eq(mt_store_migrate(&store, made_up, 1), -1);
    ck_assert_msg(strstr(store.error, "newer memtap"), "%s", store.error);
    close_and_remove();
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("history");
    tcase_add_test(tests, runs_come_back);
    tcase_add_test(tests, a_trace_that_has_gone_on_replaces_itself);
    tcase_add_test(tests, ranks_of_a_job_are_a_run);
    tcase_add_test(tests, what_is_forgotten_is_gone);
    tcase_add_test(tests, a_step_is_reported_with_its_causes);
    tcase_add_test(tests, one_cause_is_one_step);
    tcase_add_test(tests, renamed_sites_are_no_change);
    tcase_add_test(tests, a_new_history_is_its_owners_alone);
    tcase_add_test(tests, versions_follow_each_other);
    return RUN_TESTS(tests);
}
