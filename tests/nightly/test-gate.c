/* SPDX-License-Identifier: Apache-2.0 */
/* A gate compares like with like: nights of which something is missing, added, renamed or split do
 * not pass, and each says what; equal nights pass. The digests are made up, with no trace. */
#include "compare/check/check-words.h"
#include "compare/diff/diff-words.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1ull << 20)
#define MOST 16
#define DEVICES 2

/* A process of a job, as it is every night. */
struct role {
    const char *program, *command;
    long rank, world_size;
    int parent; /* its index; -1: the launcher */
    uint64_t mib[DEVICES];
    bool steps;
    const char *range; /* that it names; NULL: none */
};

struct job {
    const char *name;
    struct role role[MOST];
    size_t n;
};

static const struct job jobs[] = {
    {"ranks",
     {{"train.py", "python train.py", 0, 4, -1, {900, 0}, true, NULL},
      {"train.py", "python train.py", 1, 4, -1, {900, 0}, false, NULL},
      {"train.py", "python train.py", 2, 4, -1, {900, 0}, false, NULL},
      {"train.py", "python train.py", 3, 4, -1, {990, 0}, false, NULL}},
     4},
    {"a server and its workers",
     {{"serve.py", "python serve.py", -1, -1, -1, {10, 0}, false, "warm up"},
      {"serve.py", "python serve.py", -1, -1, 0, {200, 0}, false, NULL},
      {"serve.py", "python serve.py", -1, -1, 0, {300, 0}, false, NULL},
      {"serve.py", "python serve.py", -1, -1, 0, {400, 100}, false, NULL}},
     4},
    {"two programs",
     {{"make.py", "python make.py", -1, -1, -1, {10, 0}, false, NULL},
      {"train.py", "python train.py --lr 3", -1, -1, -1, {1000, 50}, true, "warm up"}},
     2},
    {"a rank with a child",
     {{"train.py", "python train.py", 0, 2, -1, {500, 0}, false, NULL},
      {"loader.py", "python loader.py", 0, 2, 0, {100, 0}, false, NULL},
      {"train.py", "python train.py", 1, 2, -1, {500, 0}, false, NULL},
      {"loader.py", "python loader.py", 1, 2, 2, {100, 0}, false, NULL}},
     4},
    {"one process", {{"train.py", "python train.py", -1, -1, -1, {600, 60}, true, "sample #"}}, 1},
};
#define JOBS (sizeof jobs / sizeof *jobs)

struct night {
    struct mt_digest digest[MOST];
    struct mt_digest_device device[MOST][DEVICES];
    struct mt_digest_share range[MOST];
    char path[MOST][64];
    size_t n;
};

/* The launcher's pid is another each night; process ids go on from it, with others between. */
static void make_night(struct night *night, const struct job *job, unsigned number)
{
    static char empty[] = "";
    long launcher = 1000 + 37 * number;
    memset(night, 0, sizeof *night);
    night->n = job->n;
    for (size_t i = 0; i < job->n; i++) {
        const struct role *role = &job->role[i];
        struct mt_digest_device *device = night->device[i];
        size_t n = 0;
        for (int j = 0; j < DEVICES; j++)
            if (role->mib[j]) {
                device[n] = (struct mt_digest_device){.device = j,
                                                      .allocated = role->mib[j] * MIB,
                                                      .most_reserved = role->mib[j] * MIB,
                                                      .reserved = role->mib[j] * MIB};
                device[n].most_in_phase[MT_PHASE_FORWARD] = MIB;
                device[n].most_in_phase[MT_PHASE_STEP] = role->steps ? MIB : 0;
                night->range[i].name = (char *)(uintptr_t)role->range;
                device[n].ranges = (struct mt_digest_shares){&night->range[i], role->range && !n};
                n++;
            }
        snprintf(night->path[i], sizeof night->path[i], "night-%u/%zu.mtap", number, i);
        night->digest[i] = (struct mt_digest){
            .path = night->path[i],
            .program = (char *)(uintptr_t)role->program,
            .command = (char *)(uintptr_t)role->command,
            .title = empty,
            .host = empty,
            .allocator = empty,
            .device_name = empty,
            .torch = empty,
            .cuda = empty,
            .python = empty,
            .memtap = empty,
            .fault = empty,
            .unsimulated = empty,
            .pid = launcher + 1 + (long)i * (1 + number % 3),
            .parent_pid =
                role->parent < 0 ? launcher : launcher + 1 + role->parent * (1 + (long)number % 3),
            .rank = role->rank,
            .world_size = role->world_size,
            .started_unix_ns = (1 + number) * 1000000000000ull + i * 1000,
            .length_ns = 1000000000ull,
            .complete = 1,
            .is_sound = 1,
            .devices = device,
            .n_devices = n};
    }
    /* The traces come in any order: their names are process ids. */
    for (size_t i = 0; i + 1 < night->n && number % 2; i += 2) {
        struct mt_digest first = night->digest[i];
        night->digest[i] = night->digest[i + 1];
        night->digest[i + 1] = first;
    }
}

static struct mt_check check;
static struct mt_budget budget;

static void parse(const char *text)
{
    struct mt_budget_error error;
    mt_budget_clear(&budget);
    ck_assert_msg(!mt_budget_parse(&budget, "b.toml", text, strlen(text), &error), "%s",
                  error.text);
}

/* Hold a night to good ones; by_folder: as `memtap nightly` does. Return what is said. */
static const char *hold(const struct night *night, const struct night *good, size_t n_good,
                        bool by_folder, const struct mt_check_allowed *allowed)
{
    static char said[1 << 16];
    static struct mt_digest now[MOST], old[MOST * 4]; /* findings refer to them */
    char text[MT_FINDING_TEXT];
    size_t n = 0;
    memcpy(now, night->digest, sizeof now);
    for (size_t i = 0; i < n_good; i++)
        for (size_t j = 0; j < good[i].n; j++)
            old[n++] = good[i].digest[j];
    if (by_folder) {
        mt_group_by_folder(now, night->n);
        mt_group_by_folder(old, n);
    }
    mt_check_clear(&check);
    ck_assert_int_eq(mt_check_make(&check, &budget, allowed, now, night->n, old, n), 0);
    *said = '\0';
    for (size_t i = 0; i < check.n; i++)
        if (check.finding[i].is_broken || check.finding[i].part)
            mt_text_append(said, sizeof said, "%s\n", mt_finding_text(text, &check.finding[i]));
    return said;
}

static void end(void)
{
    mt_check_clear(&check);
    mt_budget_clear(&budget);
}

static const struct mt_check_allowed nothing_allowed;

START_TEST(equal_nights_pass)
{
    static struct night good[3], night;
    for (unsigned number = 0; number < 100; number++) {
        const struct job *job = &jobs[number % JOBS];
        for (unsigned i = 0; i < 3; i++)
            make_night(&good[i], job, number + i);
        make_night(&night, job, number + 3);
        for (int by_folder = 0; by_folder < 2; by_folder++) {
            parse(mt_budget_default);
            const char *said = hold(&night, good, 3, by_folder, &nothing_allowed);
            ck_assert_msg(!check.broken && !*said, "%s, night %u: %s", job->name, number, said);
        }
    }
}
END_TEST

/* A change of a job, and what it says. */
struct change {
    const char *says;
    size_t job, role;
    enum {
        LOST,
        LOST_DEVICE,
        LOST_PHASE,
        LOST_RANGE,
        ADDED,
        ADDED_DEVICE,
        RENAMED,
        MOVED,
        SPLIT,
        GREW
    } what;
};

static const struct change changes[] = {
    {"rank 0 is missing", 0, 0, LOST},
    {"rank 1 is missing", 0, 1, LOST},
    {"rank 2 is missing", 0, 2, LOST},
    {"rank 3 is missing", 0, 3, LOST},
    {"process serve.py#1 is missing", 1, 0, LOST},
    {"process serve.py#2 is missing", 1, 1, LOST},
    {"process serve.py#3 is missing", 1, 2, LOST},
    {"process serve.py#4 is missing", 1, 3, LOST},
    {"process make.py is missing", 2, 0, LOST},
    {"process train.py is missing", 2, 1, LOST},
    {"rank 0 is missing", 3, 0, LOST},
    {"process loader.py of rank 0 is missing", 3, 1, LOST},
    {"rank 1 is missing", 3, 2, LOST},
    {"process loader.py of rank 1 is missing", 3, 3, LOST},
    {"device 1 of serve.py is missing", 1, 3, LOST_DEVICE},
    {"device 1 of train.py is missing", 2, 1, LOST_DEVICE},
    {"device 1 of train.py is missing", 4, 0, LOST_DEVICE},
    {"phase optimizer of rank 0 is missing", 0, 0, LOST_PHASE},
    {"phase optimizer of train.py is missing", 2, 1, LOST_PHASE},
    {"phase optimizer of train.py is missing", 4, 0, LOST_PHASE},
    {"phase warm up of serve.py is missing", 1, 0, LOST_RANGE},
    {"phase warm up of train.py is missing", 2, 1, LOST_RANGE},
    {"phase sample # of train.py is missing", 4, 0, LOST_RANGE},
    {"process extra.py is new", 1, 0, ADDED},
    {"process extra.py is new", 2, 0, ADDED},
    {"process extra.py is new", 4, 0, ADDED},
    {"device 1 of rank 2 is new", 0, 2, ADDED_DEVICE},
    {"device 1 of make.py is new", 2, 0, ADDED_DEVICE},
    {"device 1 of serve.py is new", 1, 1, ADDED_DEVICE},
    {"process make.py is missing", 2, 0, RENAMED},
    {"process train.py is missing", 2, 1, RENAMED},
    {"process train.py is missing", 4, 0, RENAMED},
    {"process loader.py of rank 1 is missing", 3, 3, RENAMED},
    {"device 0 of rank 3 is missing", 0, 3, MOVED},
    {"device 0 of make.py is missing", 2, 0, MOVED},
    {"process serve.py#5 is new", 1, 3, SPLIT},
    {"process train.py#2 is new", 2, 1, SPLIT},
    {"peak: ", 1, 1, GREW},
    {"peak: ", 2, 0, GREW},
    {"peak: ", 3, 1, GREW},
};
#define CHANGES (sizeof changes / sizeof *changes)

static void drop(struct job *job, size_t role)
{
    job->n--;
    memmove(&job->role[role], &job->role[role + 1], (job->n - role) * sizeof *job->role);
    for (size_t i = 0; i < job->n; i++)
        if (job->role[i].parent >= 0)
            job->role[i].parent = job->role[i].parent == (int)role  ? MOST
                                  : job->role[i].parent > (int)role ? job->role[i].parent - 1
                                                                    : job->role[i].parent;
}

static struct job changed(const struct change *change)
{
    struct job job = jobs[change->job];
    struct role *role = &job.role[change->role];
    switch (change->what) {
    case LOST:
        drop(&job, change->role);
        break;
    case LOST_DEVICE:
        role->mib[1] = 0;
        break;
    case LOST_PHASE:
        role->steps = false;
        break;
    case LOST_RANGE:
        role->range = NULL;
        break;
    case ADDED:
        job.role[job.n++] =
            (struct role){"extra.py", "python extra.py", -1, -1, -1, {70, 0}, false, NULL};
        break;
    case ADDED_DEVICE:
        role->mib[1] = 30;
        break;
    case RENAMED:
        role->program = "other.py";
        role->command = "python other.py";
        break;
    case MOVED:
        role->mib[1] = role->mib[0];
        role->mib[0] = 0;
        break;
    case SPLIT:
        job.role[job.n] = *role;
        job.role[job.n++].mib[0] /= 2;
        role->mib[0] /= 2;
        break;
    case GREW:
        role->mib[0] *= 90;
        break;
    }
    return job;
}

START_TEST(other_nights_do_not_pass)
{
    static struct night good[3], night;
    ck_assert_uint_eq(CHANGES, 40);
    for (size_t i = 0; i < CHANGES; i++) {
        const struct change *change = &changes[i];
        const struct job job = changed(change);
        for (unsigned j = 0; j < 3; j++)
            make_night(&good[j], &jobs[change->job], (unsigned)i + j);
        make_night(&night, &job, (unsigned)i + 3);
        for (int by_folder = 0; by_folder < 2; by_folder++) {
            parse(mt_budget_default);
            const char *said = hold(&night, good, 3, by_folder, &nothing_allowed);
            ck_assert_msg(check.broken && strstr(said, change->says), "%zu: %s: not \"%s\": %s", i,
                          jobs[change->job].name, change->says, said);
        }
        struct mt_diff diff;
        char verdict[MT_WORDS];
        struct mt_digest old[MOST];
        memcpy(old, good[2].digest, sizeof old);
        mt_group_by_folder(old, good[2].n);
        mt_group_by_folder(night.digest, night.n);
        ck_assert_int_eq(mt_diff_make(&diff, old, good[2].n, night.digest, night.n), 0);
        mt_diff_verdict(verdict, sizeof verdict, &diff);
        ck_assert_msg(strncmp(verdict, "no difference", 13) &&
                          (change->what == GREW || strstr(verdict, change->says)),
                      "%zu: not \"%s\": %s", i, change->says, verdict);
        mt_diff_clear(&diff);
    }
}
END_TEST

START_TEST(what_is_missing_can_be_accepted)
{
    static struct night good, night;
    static const char *const patterns[] = {"rank:3"}, *const others[] = {"rank:2", "process:*"};
    const struct job job = changed(&changes[3]);
    make_night(&good, &jobs[0], 0);
    make_night(&night, &job, 1);
    parse(mt_budget_default);
    hold(&night, &good, 1, true, &(struct mt_check_allowed){.missing = others, .n_missing = 2});
    ck_assert_uint_eq(check.broken, 1);
    const char *said = hold(&night, &good, 1, true,
                            &(struct mt_check_allowed){.missing = patterns, .n_missing = 1});
    ck_assert_uint_eq(check.broken, 0);
    ck_assert_str_eq(said, "rank 3 is missing; its peak was 990.00 MiB (allowed)\n");
}
END_TEST

/* A run that was killed before its first allocation lacks everything: its end says why, alone. */
START_TEST(the_end_of_a_run_says_why_it_lacks_things)
{
    static struct night good, night;
    make_night(&good, &jobs[JOBS - 1], 0);
    make_night(&night, &jobs[JOBS - 1], 1);
    night.digest[0].ended.how = MT_ENDED_KILLED;
    night.digest[0].n_devices = 0;
    night.digest[0].program = night.digest[0].command = (char *)"";
    parse(mt_budget_default);
    hold(&night, &good, 1, true, &nothing_allowed);
    ck_assert_uint_eq(check.broken, 1);
    ck_assert_str_eq(check.finding[0].name, "ended");
}
END_TEST

/* Two workers that start at once come in either order. */
START_TEST(exchanged_workers_are_no_change)
{
    static struct night good, night;
    struct job job = jobs[1];
    uint64_t first = job.role[1].mib[0];
    job.role[1].mib[0] = job.role[2].mib[0];
    job.role[2].mib[0] = first;
    make_night(&good, &jobs[1], 0);
    make_night(&night, &job, 1);
    parse(mt_budget_default);
    const char *said = hold(&night, &good, 1, true, &nothing_allowed);
    ck_assert_msg(!check.broken && !*said, "%s", said);
}
END_TEST

START_TEST(the_newest_night_says_what_there_should_be)
{
    static struct night good[2], night;
    const struct job job = changed(&changes[3]);
    make_night(&good[0], &jobs[0], 0);
    make_night(&good[1], &job, 1); /* accepted */
    make_night(&night, &job, 2);
    parse(mt_budget_default);
    const char *said = hold(&night, good, 2, true, &nothing_allowed);
    ck_assert_msg(!check.broken && !*said, "%s", said);
}
END_TEST

START_TEST(a_pattern_that_matches_nothing_is_broken)
{
    static struct night night;
    char text[MT_FINDING_TEXT];
    struct mt_digest_site site = {.file = (char *)"net.py",
                                  .function = (char *)"Net.forward",
                                  .operator_name = (char *)"",
                                  .module = (char *)"layers.3",
                                  .stack = (char *)"",
                                  .bytes = MIB};
    static const struct {
        const char *budget;
        bool holds;
    } cases[] = {
        {"[site]\n\"net.py:*\" = \"2 MiB\"\n", true},
        {"[site]\n\"model.py:*\" = \"2 MiB\"\n", false},
        {"[site]\n\"net.py:Net.backward\" = \"2 MiB\"\n", false},
        {"[module]\n\"layers.*\" = \"2 MiB\"\n", true},
        {"[module]\n\"blocks.*\" = \"2 MiB\"\n", false},
        {"[site]\nevery = \"2 MiB\"\n", true},
    };
    make_night(&night, &jobs[4], 0);
    night.device[0][0].site = &site;
    night.device[0][0].n_sites = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        parse(cases[i].budget);
        hold(&night, NULL, 0, false, &nothing_allowed);
        ck_assert_msg(!check.broken == cases[i].holds, "%s", cases[i].budget);
        if (!cases[i].holds)
            ck_assert_ptr_nonnull(strstr(mt_finding_text(text, check.finding), ": matches no "));
    }
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("gate");
    tcase_add_checked_fixture(cases, NULL, end);
    tcase_add_test(cases, equal_nights_pass);
    tcase_add_test(cases, other_nights_do_not_pass);
    tcase_add_test(cases, what_is_missing_can_be_accepted);
    tcase_add_test(cases, the_end_of_a_run_says_why_it_lacks_things);
    tcase_add_test(cases, exchanged_workers_are_no_change);
    tcase_add_test(cases, the_newest_night_says_what_there_should_be);
    tcase_add_test(cases, a_pattern_that_matches_nothing_is_broken);
    return RUN_TESTS(cases);
}
