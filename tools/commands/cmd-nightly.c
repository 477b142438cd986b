/* SPDX-License-Identifier: Apache-2.0 */
/* One night of a job: record it, check it against earlier nights, keep it as good or bad. It calls
 * the other commands like a user. */
#include "analyzer/support/new-file.h"
#include "cmd-history.h"
#include "commands.h"
#include "nightly/check/check-formats.h"
#include "tools/input/check-arguments.h"
#include "tools/input/digests.h"
#include "tools/input/traces.h"
#include "tools/launch/program.h"
#include "tools/launch/setting-options.h"
#include "tools/terminal/command.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define COMPARED 7 /* newest good nights */
#define MOST_WORDS 64

enum { BROKEN = 1, FOLDER = 256, BUDGET, SUMMARY, RULES };

/* clang-format off */
const struct mt_option mt_nightly_options[] = {
    MT_MORE_SETTINGS(MT_SETTING_OPTION) /* its traces have their own names */
    MT_SIMULATION_OPTIONS,
    {FOLDER, "folder", "FOLDER", "keep the nights there (default: memtap-nightly)"},
    {BUDGET, "budget", "FILE", "check against this budget: memtap-budget(5)"},
    MT_CHECK_FORMAT_OPTION('f'),
    MT_CHECK_SUMMARY_OPTION(SUMMARY),
    {RULES, "rules", "FILE", "apply your own rules first: memtap-rules(5)"},
    {0},
};
/* clang-format on */

struct words {
    char *word[MOST_WORDS + 1];
    int n;
};

struct night {
    const char *folder, *budget, *rules;
    struct words outputs; /* output options of `check` */
    bool has_relative;    /* the budget, or the default one */
    char name[64];        /* its date */
    char path[PATH_MAX];  /* its folder */
    char *good[COMPARED]; /* folders of good nights, the newest last */
    size_t n_good;
    bool is_whole;
    bool has_failed; /* the program */
};

static void add(struct words *words, const char *word)
{
    if (words->n < MOST_WORDS)
        words->word[words->n++] = (char *)word;
}

/* Call another command. It reads its options from the begin. */
static int call(int (*run)(const struct mt_command *command, int argc, char **argv),
                const struct mt_command *command, struct words *words)
{
    optind = 0;
    return run(command, words->n, words->word);
}

static const struct mt_command *find(const struct mt_command *commands, const char *name)
{
    while (commands->name && strcmp(commands->name, name))
        commands++;
    return commands;
}

/* --- the command line ------------------------------------------------------------------------ */

/* Add "--NAME=VALUE"; kept for the life of the process. */
static int add_option(struct words *words, const char *name, const char *value)
{
    static struct words kept;
    char *word = NULL;
    if (asprintf(&word, "--%s%s%s", name, value ? "=" : "", value ? value : "") < 0)
        return mt_fail("out of memory");
    add(&kept, word);
    add(words, word);
    return 0;
}

/* Read how `check` will print, before the night, like the budget. */
static int read_output(const struct mt_command *command, const struct mt_option *option,
                       const char *value, struct night *night)
{
    static struct mt_check_arguments formats;
    int code = option->letter == 'f' ? mt_read_check_format(command, value, &formats) : 0;
    return code ? code : add_option(&night->outputs, option->name, value);
}

/* Read the options of `memtap run`; the program's words follow. */
static int read_arguments(const struct mt_command *command, int argc, char **argv,
                          struct night *night, struct words *run, int *operand)
{
    const char *value;
    int letter;
    bool is_module = false;
    while (!is_module && (letter = mt_options_next(command, argc, argv, &value, operand)) > 0) {
        const struct mt_option *option = mt_option_of(command, letter);
        if (letter == FOLDER) {
            night->folder = value;
        } else if (letter == BUDGET) {
            night->budget = value;
        } else if (letter == RULES) {
            night->rules = value;
        } else if (letter == 'f' || letter == SUMMARY) {
            if (read_output(command, option, value, night))
                return MT_EXIT_BAD;
        } else if (letter == 'm' && mt_is_module(value, argv, *operand)) {
            *operand -= 2;
            is_module = true;
        } else if (add_option(run, option->name, option->value ? value : NULL)) {
            return MT_EXIT_BAD;
        }
    }
    if (letter < 0)
        return MT_EXIT_BAD;
    if (*operand == argc)
        return mt_fail_usage(command, "no command to run given");
    return *night->folder ? 0 : mt_fail_usage(command, "the folder's name is empty");
}

/* Read the rules before the night: otherwise a mistake shows hours later. */
static int look_at_rules(const struct night *night)
{
    struct mt_user_rules *rules = NULL;
    int rc = night->rules ? mt_read_rules(night->rules, &rules) : 0;
    mt_user_rules_destroy(rules);
    return rc ? MT_EXIT_BAD : 0;
}

/* The same for the budget, after the rules: these may define categories. */
static int look_at_budget(struct night *night)
{
    struct mt_budget budget = {0};
    struct mt_budget_error error = {0};
    night->has_relative = true;
    if (!night->budget)
        return 0;
    int rc = mt_budget_read(&budget, night->budget, &error);
    if (rc && error.line)
        mt_fail("%s:%u:%u: %s", night->budget, error.line, error.column, error.text);
    else if (rc)
        mt_fail("%s: %s", night->budget, rc == -ENOMEM ? "out of memory" : error.text);
    night->has_relative = !rc && mt_budget_relative(&budget);
    mt_budget_clear(&budget);
    return rc ? MT_EXIT_BAD : 0;
}

/* --- folders --------------------------------------------------------------------------------- */

static int is_trace(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot && !strcmp(dot, ".mtap");
}

static int is_night(const struct dirent *entry)
{
    return *entry->d_name != '.';
}

static bool has_traces(const char *folder)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, is_trace, NULL);
    for (int i = 0; i < n; i++)
        free(entries[i]);
    if (n >= 0)
        free(entries);
    return n > 0;
}

/* Find the newest good nights that have traces. */
static int find_good(struct night *night)
{
    char folder[PATH_MAX];
    struct dirent **entries;
    snprintf(folder, sizeof folder, "%s/good", night->folder);
    int n = scandir(folder, &entries, is_night, alphasort);
    if (n < 0)
        return mt_fail("%s: %s", folder, strerror(errno));
    size_t first = COMPARED;
    for (int i = n - 1; i >= 0; i--) {
        char *path = NULL;
        if (first && asprintf(&path, "%s/%s", folder, entries[i]->d_name) >= 0 && has_traces(path))
            night->good[--first] = path;
        else
            free(path);
        free(entries[i]);
    }
    free(entries);
    night->n_good = COMPARED - first;
    memmove(night->good, night->good + first, night->n_good * sizeof *night->good);
    return 0;
}

static int make_folder(const char *path)
{
    int rc = mt_check_output(path);
    if (!rc && mkdir(path, 0777) && errno != EEXIST)
        rc = -errno;
    return rc ? mt_fail("%s: %s", path, mt_output_error(rc)) : 0;
}

/* A night is bad until it is found good: an interrupted one stays bad. */
static int begin_night(struct night *night)
{
    char good[PATH_MAX], bad[PATH_MAX], date[32];
    time_t now = time(NULL);
    struct tm tm;
    if (strlen(night->folder) > PATH_MAX / 4)
        return mt_fail("%s: the name is too long", night->folder);
    snprintf(good, sizeof good, "%s/good", night->folder);
    snprintf(bad, sizeof bad, "%s/bad", night->folder);
    if (make_folder(night->folder) || make_folder(good) || make_folder(bad))
        return MT_EXIT_BAD;
    strftime(date, sizeof date, "%Y-%m-%d-%H%M%S", gmtime_r(&now, &tm));
    for (int i = 1;; i++) {
        snprintf(night->name, sizeof night->name, i > 1 ? "%s-%02d" : "%s", date, i);
        snprintf(good, sizeof good, "%s/good/%s", night->folder, night->name);
        snprintf(night->path, sizeof night->path, "%s/bad/%s", night->folder, night->name);
        if (!access(good, F_OK))
            continue;
        if (!mkdir(night->path, 0777))
            return find_good(night);
        if (errno != EEXIST)
            return mt_fail("%s: %s", night->path, strerror(errno));
    }
}

/* to: "good" or "bad". */
static int move_to(struct night *night, const char *to)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/%s", night->folder, to, night->name);
    if (!strcmp(night->path, path))
        return 0;
    if (rename(night->path, path))
        return mt_fail("%s: cannot be moved to %s: %s", night->path, path, strerror(errno));
    snprintf(night->path, sizeof night->path, "%s", path);
    return 0;
}

/* --- the night ------------------------------------------------------------------------------- */

extern char **environ;

/* Record the night. The variables that `run` sets are for the program, not for later commands
 * (git). */
static int record(struct night *night, struct words *run, char **program, int n_program)
{
    char output[2 * PATH_MAX] = "--output=";
    size_t n = strlen(output), n_before = 0;
    for (const char *at = night->path; *at; at++) { /* a pattern needs % doubled */
        output[n++] = *at;
        if (*at == '%')
            output[n++] = '%';
    }
    snprintf(output + n, sizeof output - n, "/trace.mtap");
    while (environ[n_before])
        n_before++;
    char **before = calloc(n_before + 1, sizeof *before);
    char **argv = calloc((size_t)(run->n + n_program) + 3, sizeof *argv);
    int n_words = run->n;
    if (!before || !argv) {
        free(before);
        free(argv);
        return mt_fail("out of memory");
    }
    memcpy(before, environ, n_before * sizeof *before);
    memcpy(argv, run->word, (size_t)n_words * sizeof *argv);
    argv[n_words++] = output;
    if (strcmp(program[0], "-m"))
        argv[n_words++] = (char *)"--"; /* the program's words are not our options */
    memcpy(argv + n_words, program, (size_t)n_program * sizeof *argv);
    optind = 0;
    mt_run_is_night = true;
    int code = mt_run_run(find(mt_commands, "run"), n_words + n_program, argv);
    environ = before; /* for the life of the process */
    free(argv);
    return code;
}

/* Check that every run is whole, whatever its size. Print the reason if tell: if no check of limits
 * will. */
static int look_at_end(struct night *night, int tell)
{
    struct mt_digests runs = {0};
    struct mt_trace_list list = {0};
    struct mt_budget none = {0};
    struct mt_check check = {0};
    char *folder = night->path;
    int rc = mt_trace_list_add(&list, &folder, 1) ||
             mt_digests_read(&runs, list.path, list.n, NULL) ||
             mt_check_make(&check, &none, 0, runs.digest, runs.n, NULL, 0);
    night->is_whole = !rc && !check.broken;
    if (!rc && tell && check.broken)
        mt_check_text(&check, stdout);
    int code = rc ? MT_EXIT_BAD : check.broken ? BROKEN : 0;
    if (!code && !mt_digests_are_whole(&runs, 0, "a good night"))
        code = MT_EXIT_BAD;
    mt_check_clear(&check);
    mt_digests_clear(&runs);
    mt_trace_list_clear(&list);
    return code;
}

static void add_rules(struct words *words, const struct night *night)
{
    if (!night->rules)
        return;
    add(words, "--rules");
    add(words, night->rules);
}

/* Move a good night before its check prints paths: a reader follows them the next morning. */
static void take_good(void *data, bool is_broken, struct mt_digests *runs)
{
    struct night *night = data;
    size_t before = strlen(night->path);
    bool is_good = !night->has_failed && !is_broken;
    for (size_t i = 0; i < runs->n; i++)
        is_good &= !*runs->digest[i].uncomputed;
    if (!is_good || move_to(night, "good"))
        return;
    for (size_t i = 0; i < runs->n; i++) {
        char *path = NULL;
        if (asprintf(&path, "%s%s", night->path, runs->digest[i].path + before) >= 0) {
            free(runs->digest[i].path);
            runs->digest[i].path = path;
        }
    }
}

static int check(struct night *night, char *const *baselines, size_t n)
{
    struct words words = {0};
    add(&words, "check");
    add(&words, night->path);
    for (int i = 0; i < night->outputs.n; i++)
        add(&words, night->outputs.word[i]);
    add_rules(&words, night);
    if (night->budget) {
        add(&words, "--budget");
        add(&words, night->budget);
    }
    if (n)
        add(&words, "--against");
    for (size_t i = 0; i < n; i++)
        add(&words, baselines[i]);
    optind = 0;
    return mt_check_then(find(mt_commands, "check"), words.n, words.word, take_good, night);
}

/* Check the night. The first night is its own baseline: absolute limits of the budget still count,
 * and all output is written. */
static int hold(struct night *night)
{
    char *own = night->path;
    bool is_own = !night->n_good && night->has_relative, has_outputs = night->outputs.n > 0;
    int code = look_at_end(night, is_own && !has_outputs);
    if (code == MT_EXIT_BAD)
        return code;
    if (!is_own)
        return check(night, night->good, night->n_good);
    return has_outputs || (night->budget && !code) ? check(night, &own, 1) : code;
}

static int keep_in_history(const struct night *night)
{
    char db[PATH_MAX + 16];
    const struct mt_command *history = find(mt_commands, "history");
    struct mt_trace_list list = {0};
    char *folder = (char *)night->path;
    snprintf(db, sizeof db, "%s/memory.db", night->folder);
    int code = mt_trace_list_add(&list, &folder, 1) ? MT_EXIT_BAD : 0;
    for (size_t i = 0; i < list.n && !code; i++) {
        struct words words = {0};
        add(&words, "add");
        add(&words, "--db");
        add(&words, db);
        add_rules(&words, night);
        add(&words, list.path[i]);
        code = call(mt_run_history_add, find(history->verbs, "history add"), &words);
    }
    mt_trace_list_clear(&list);
    return code;
}

/* Print the changes since the last good night, and their commits. */
static void tell_why(const struct night *night)
{
    char db[PATH_MAX + 16];
    const struct mt_command *trend = find(find(mt_commands, "history")->verbs, "history trend");
    snprintf(db, sizeof db, "%s/memory.db", night->folder);
    if (!night->n_good)
        return;
    struct words words = {0};
    add(&words, "diff");
    add_rules(&words, night);
    add(&words, night->good[night->n_good - 1]);
    add(&words, night->path);
    putchar('\n');
    call(mt_run_diff, find(mt_commands, "diff"), &words);
    words = (struct words){0};
    add(&words, "trend");
    add(&words, "--db");
    add(&words, db);
    putchar('\n');
    call(trend->run, trend, &words);
}

static int finish(struct night *night, int program)
{
    night->has_failed = program != 0;
    int held = hold(night);
    bool is_good = !program && !held;
    int kept = move_to(night, is_good ? "good" : "bad") ? MT_EXIT_BAD : 0;
    if (keep_in_history(night))
        kept = MT_EXIT_BAD;
    if (!is_good)
        tell_why(night);
    if (is_good && !kept)
        mt_say("the night is good: %s", night->path);
    else if (is_good)
        mt_say("the night is good, but could not be moved to good/: %s", night->path);
    else if (program)
        mt_say("the night is bad: the program's exit code is %d%s: %s", program,
               program > 128 ? " (128 and a signal's number)" : "", night->path);
    else
        mt_say("the night is bad: %s: %s",
               held == MT_EXIT_BAD ? "its memory could not be measured"
               : night->is_whole   ? "a limit is broken"
                                   : "its run is not whole",
               night->path);
    return program ? program : held ? held : kept;
}

/* Leave a night without traces. */
static int leave(const struct night *night, int program)
{
    rmdir(night->path);
    mt_say("the night is bad: no trace was made%s", program ? ", and the program failed" : "");
    return program ? program : MT_EXIT_BAD;
}

int mt_run_nightly(const struct mt_command *command, int argc, char **argv)
{
    struct night night = {.folder = "memtap-nightly"};
    struct words run = {.word = {(char *)"run"}, .n = 1};
    char folder[PATH_MAX];
    int operand = 0;
    if (read_arguments(command, argc, argv, &night, &run, &operand) || look_at_rules(&night) ||
        look_at_budget(&night))
        return MT_EXIT_BAD;
    /* So that no other command takes its name for an option. */
    snprintf(folder, sizeof folder, "%s%s", *night.folder == '-' ? "./" : "", night.folder);
    night.folder = folder;
    if (begin_night(&night))
        return MT_EXIT_BAD;
    int program = record(&night, &run, argv + operand, argc - operand);
    int code = has_traces(night.path) ? finish(&night, program) : leave(&night, program);
    for (size_t i = 0; i < night.n_good; i++)
        free(night.good[i]);
    return code;
}
