/* SPDX-License-Identifier: Apache-2.0 */
/* memtap history: list, show, trend and prune; add is in cmd-history-add.c. */
#include "commands.h"
#include "compare/history/trace-copy.h"
#include "compare/history/trend.h"
#include "steps.h"
#include "tools/memtap/input/check-arguments.h"
#include "tools/memtap/input/history-location.h"
#include "tools/memtap/terminal/command.h"
#include "trace-format/settings/size.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND UINT64_C(1000000000)
#define NIGHTS 60u /* a trend's default */

struct arguments {
    struct mt_history_location place;
    struct mt_run_filter filter;
    enum mt_format format;
    uint64_t keep_last, older_than_ns; /* 0: not given */
    bool dry_run;
    const char *copies;  /* a folder with copies, besides the database's; NULL: none */
    const char *operand; /* NULL: none */
};

static uint64_t now(void)
{
    return (uint64_t)time(NULL) * SECOND;
}

/* Parse "90d"; 0: invalid, or without a unit. */
static uint64_t read_age(const char *text)
{
    uint64_t ns = 0;
    bool has_unit = text[strspn(text, "0123456789.")];
    return has_unit && !mt_time_parse(text, &ns) ? ns : 0;
}

static uint64_t read_since(const char *text)
{
    struct tm date = {.tm_isdst = -1};
    const char *end = strptime(text, "%Y-%m-%d", &date);
    time_t seconds = end && !*end ? mktime(&date) : -1;
    uint64_t age = read_age(text);
    if (seconds > 0)
        return (uint64_t)seconds * SECOND;
    return age && age < now() ? now() - age : 0;
}

/* Parse a count; 0: invalid. */
static uint64_t read_count(const char *text)
{
    char *end;
    unsigned long long count = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && count <= INT32_MAX ? count : 0;
}

static int wrong(const struct mt_typed *typed, const char *wanted)
{
    return mt_fail_usage(typed->command, "'%s' is not a %s", typed->value, wanted);
}

static int note_since(const struct mt_typed *typed)
{
    uint64_t since = *(uint64_t *)typed->place = read_since(typed->value);
    return since ? 0 : wrong(typed, "date (2026-11-20) or age (30d)");
}

static int note_age(const struct mt_typed *typed)
{
    uint64_t age = *(uint64_t *)typed->place = read_age(typed->value);
    return age ? 0 : wrong(typed, "duration; use 90d, 12w or 6h");
}

/* clang-format off */
#define PLACE(member) offsetof(struct arguments, member)
#define FORMAT_OPTION MT_FORMAT_OPTION(arguments, format, "text (the default) or json", "text json")
#define LAST_OPTION(help) {0, "last", "N", help, NULL, mt_note_number, PLACE(filter.last), 1, INT32_MAX}
#define FILTER_OPTIONS                                                                             \
    {0, "branch", "NAME", "show only runs of this branch", NULL, mt_note_text, PLACE(filter.branch)},    \
    {0, "tag", "NAME", "show only runs with this tag", NULL, mt_note_text, PLACE(filter.tag)},           \
    {0, "program", "NAME", "show only runs of this program", NULL, mt_note_text, PLACE(filter.program)}, \
    {0, "since", "WHEN", "show only runs since a date (2026-11-20) or in the last\n30d, 12h", NULL, \
     note_since, PLACE(filter.since_unix_ns)}

static const struct mt_option list_options[] = {
    FORMAT_OPTION, FILTER_OPTIONS, LAST_OPTION("show only the newest N"), MT_DB_OPTIONS(arguments, place), {0}};
static const struct mt_option show_options[] = {FORMAT_OPTION, FILTER_OPTIONS, MT_DB_OPTIONS(arguments, place), {0}};
static const struct mt_option trend_options[] = {
    FORMAT_OPTION, FILTER_OPTIONS, LAST_OPTION("show the newest N (default: 60)"),
    MT_ALLOW_ENDED_OPTION(arguments, filter.allowed), MT_DB_OPTIONS(arguments, place), {0}};
static const struct mt_option prune_options[] = {
    {0, "keep-last", "N", "keep the newest N of each program and branch", NULL, mt_note_number, PLACE(keep_last),
     1, INT32_MAX},
    {0, "older-than", "TIME", "remove only runs older than this: 90d, 12w, 6h", NULL, note_age, PLACE(older_than_ns)},
    {'n', "dry-run", NULL, "print what would be removed, and remove nothing", NULL, mt_note_flag, PLACE(dry_run)},
    {0, "copies", "FOLDER", "also remove copies in this folder: that of add --keep,\nif it is "
                            "not next to the history", NULL,
     mt_note_text, PLACE(copies)},
    FILTER_OPTIONS, MT_DB_OPTIONS(arguments, place), {0}};
/* clang-format on */

static int read_arguments(const struct mt_command *command, int argc, char **argv,
                          struct arguments *arguments)
{
    bool most = command->options == show_options;
    *arguments = (struct arguments){.place = MT_HISTORY_PLACE};
    int operand = mt_options_read(command, argc, argv, arguments);
    if (operand < 0)
        return -1;
    if (operand + most < argc) {
        mt_fail_usage(command, "unexpected argument '%s'", argv[operand + most]);
        return -1;
    }
    arguments->operand = operand < argc ? argv[operand] : NULL;
    return 0;
}

/* Run the verb on an open history. Return an exit code, or a negative errno (-EIO may be the
 * store's). */
typedef int work(const struct mt_command *command, struct mt_store *store,
                 struct arguments *arguments);

static int work_on(const struct mt_command *command, struct arguments *arguments,
                   enum mt_store_use use, work *do_it)
{
    struct mt_store store;
    if (mt_history_location_find(command, &arguments->place))
        return MT_EXIT_BAD;
    int rc = mt_history_location_open(&arguments->place, &store, use);
    if (!rc)
        rc = do_it(command, &store, arguments);
    if (store.failed)
        rc = mt_fail("%s", store.error);
    mt_store_close(&store);
    return rc == -ENOMEM ? mt_fail_memory() : rc < 0 ? MT_EXIT_OK : rc;
}

static int with_history(const struct mt_command *command, int argc, char **argv,
                        enum mt_store_use use, work *do_it)
{
    struct arguments arguments;
    return read_arguments(command, argc, argv, &arguments)
               ? MT_EXIT_BAD
               : work_on(command, &arguments, use, do_it);
}

static int list(const struct mt_command *command, struct mt_store *store,
                struct arguments *arguments)
{
    struct mt_runs runs;
    struct mt_style style = mt_terminal_style();
    (void)command;
    int rc = mt_history_runs(store, &arguments->filter, &runs);
    if (!rc && arguments->format == MT_FORMAT_JSON)
        rc = mt_runs_json(&runs, stdout);
    else if (!rc)
        mt_runs_text(&runs, stdout, &style);
    mt_runs_clear(&runs);
    return rc;
}

static int show(const struct mt_command *command, struct mt_store *store,
                struct arguments *arguments)
{
    struct mt_runs runs;
    struct mt_style style = mt_terminal_style();
    uint64_t id = arguments->operand ? read_count(arguments->operand) : 0;
    if (arguments->operand && !id)
        return mt_fail_usage(command, "invalid run number '%s'", arguments->operand);
    arguments->filter.id = (int64_t)id;
    arguments->filter.last = 1;
    int rc = mt_history_runs(store, &arguments->filter, &runs);
    if (!rc && !runs.n)
        rc = arguments->operand ? mt_fail("%s: no run %s", store->path, arguments->operand)
                                : mt_fail("%s: no such run", store->path);
    else if (!rc)
        rc = arguments->format == MT_FORMAT_JSON ? mt_run_json(store, runs.run, stdout)
                                                 : mt_run_text(store, runs.run, stdout, &style);
    mt_runs_clear(&runs);
    return rc;
}

static int trend(const struct mt_command *command, struct mt_store *store,
                 struct arguments *arguments)
{
    struct mt_trend found;
    struct mt_style style = mt_terminal_style();
    (void)command;
    if (!arguments->filter.last)
        arguments->filter.last = NIGHTS;
    int rc = mt_trend_find(&found, store, &arguments->filter);
    if (!rc)
        rc = arguments->format == MT_FORMAT_JSON ? mt_trend_json(&found, store, stdout)
                                                 : mt_trend_text(&found, store, stdout, &style);
    mt_trend_clear(&found);
    return rc;
}

/* Return how many runs of the same program and branch are newer. */
static uint64_t count_newer(const struct mt_runs *runs, size_t index)
{
    const struct mt_run *run = &runs->run[index];
    uint64_t newer = 0;
    for (size_t i = index + 1; i < runs->n; i++)
        newer += !strcmp(runs->run[i].text[MT_RUN_PROGRAM], run->text[MT_RUN_PROGRAM]) &&
                 !strcmp(runs->run[i].text[MT_RUN_BRANCH], run->text[MT_RUN_BRANCH]);
    return newer;
}

/* Reduce the list to the runs to forget. */
static void choose(struct mt_runs *runs, const struct arguments *arguments)
{
    size_t chosen = 0;
    uint64_t until = now() - arguments->older_than_ns;
    for (size_t i = 0; i < runs->n; i++) {
        bool goes = (!arguments->keep_last || count_newer(runs, i) >= arguments->keep_last) &&
                    (!arguments->older_than_ns || runs->run[i].started_unix_ns < until);
        struct mt_run run = runs->run[i];
        if (goes) {
            runs->run[i] = runs->run[chosen];
            runs->run[chosen++] = run;
        }
    }
    for (size_t i = chosen; i < runs->n; i++)
        mt_run_clear(&runs->run[i]);
    runs->n = chosen;
}

struct pruning {
    const struct arguments *arguments;
    int code;
};

static void remove_copy(void *user, const char *path)
{
    struct pruning *pruning = user;
    const struct arguments *arguments = pruning->arguments;
    int rc = mt_history_remove_copy(&arguments->place, path, arguments->copies);
    if (!rc) {
        fputs("removed ", stdout);
        mt_print_text(path);
        putchar('\n');
        return;
    }
    pruning->code = mt_fail("%s: cannot remove: %s", path, mt_history_remove_error(rc));
}

static int prune(const struct mt_command *command, struct mt_store *store,
                 struct arguments *arguments)
{
    struct mt_runs runs;
    struct mt_style style = mt_terminal_style();
    struct pruning pruning = {arguments, MT_EXIT_OK};
    if (!arguments->keep_last && !arguments->older_than_ns)
        return mt_fail_usage(command, "no runs selected; give --keep-last or --older-than");
    int rc = mt_history_runs(store, &arguments->filter, &runs);
    if (!rc)
        choose(&runs, arguments);
    if (!rc && runs.n && !arguments->dry_run)
        rc = mt_history_forget(store, &runs, remove_copy, &pruning);
    if (!rc && runs.n) {
        puts(arguments->dry_run ? "Would remove:" : "Removed:");
        mt_runs_text(&runs, stdout, &style);
    } else if (!rc) {
        puts("Nothing to remove");
    }
    mt_runs_clear(&runs);
    return rc ? rc : pruning.code;
}

static int run_list(const struct mt_command *command, int argc, char **argv)
{
    return with_history(command, argc, argv, MT_STORE_READ, list);
}

static int run_show(const struct mt_command *command, int argc, char **argv)
{
    return with_history(command, argc, argv, MT_STORE_READ, show);
}

static int run_trend(const struct mt_command *command, int argc, char **argv)
{
    return with_history(command, argc, argv, MT_STORE_READ, trend);
}

int mt_history_print_trend(const struct mt_command *command, const char *db)
{
    struct arguments arguments = {.place = MT_HISTORY_PLACE};
    arguments.place.db = db;
    return work_on(command, &arguments, MT_STORE_READ, trend);
}

static int run_prune(const struct mt_command *command, int argc, char **argv)
{
    return with_history(command, argc, argv, MT_STORE_WRITE, prune);
}

const struct mt_command mt_history_verbs[] = {
    {"history add", "[OPTION]... TRACE...", "add the runs of traces",
     "Adds a run to the history, with its commit and branch. The trace stays where it is.\n"
     "The ranks of a job are one run.",
     mt_history_add_options, 0, mt_run_history_add},
    {"history list", "[OPTION]...", "list the runs", "Lists the runs of the history, newest last.",
     list_options, 0, run_list},
    {"history show", "[OPTION]... [RUN]", "show everything about a run",
     "Shows everything that the history has about a run; the default is the newest.", show_options,
     0, run_show},
    {"history trend", "[OPTION]...", "chart runs over time, and find where memory changed",
     "Charts the newest runs of a program, finds where memory changed for good, and names\n"
     "the commits around each change and its call sites.",
     trend_options, 0, run_trend},
    {"history prune", "[OPTION]...", "remove old runs",
     "Removes old runs, and the history's own copies of their traces, and lists them.",
     prune_options, 0, run_prune},
    {0},
};
