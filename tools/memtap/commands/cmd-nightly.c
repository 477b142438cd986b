/* SPDX-License-Identifier: Apache-2.0 */
/* A nightly run of a job: record it, check it against earlier ones, and keep it in good/ or bad/.
 */
#include "analyzer/support/new-file.h"
#include "commands.h"
#include "compare/check/check-formats.h"
#include "steps.h"
#include "tools/memtap/input/check-arguments.h"
#include "tools/memtap/input/digests.h"
#include "tools/memtap/input/traces.h"
#include "tools/memtap/launch/setting-options.h"
#include "tools/memtap/terminal/command.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define COMPARED 7 /* newest runs that passed */

enum { BROKEN = 1 };

struct night {
    struct mt_run_request run;
    const struct mt_command *command;
    const char *folder, *budget, *rules;
    struct mt_check_arguments check;
    bool has_relative;    /* the budget, or the default one */
    bool has_failed;      /* the program */
    char name[64];        /* its date */
    char path[PATH_MAX];  /* its folder */
    char *good[COMPARED]; /* folders of runs that passed, the newest last */
    size_t n_good;
    char pinned[64];   /* the run from which changes are counted; "": none */
    char accepted[64]; /* the newest accepted run, which had failed, or the pinned one */
    bool is_complete;
};

/* --- the command line ------------------------------------------------------------------------ */

/* Read the rules and the budget before the run, not hours later. */
/* clang-format off */
#define PLACE(member) offsetof(struct night, member)
const struct mt_option mt_nightly_options[] = {
    MT_MORE_SETTINGS(MT_SETTING_OPTION) /* its traces have their own names */
    MT_SIMULATION_OPTIONS(PLACE(run.simulation)),
    {0, "folder", "FOLDER", "keep the runs in this folder (default: memtap-nightly)", NULL, mt_note_text, PLACE(folder)},
    {0, "budget", "FILE", "check against this budget: memtap-budget(5)", NULL, mt_note_text, PLACE(budget)},
    MT_CHECK_OPTIONS(PLACE(check)),
    {0, "rules", "FILE", "apply your own rules first: memtap-rules(5)", NULL, mt_note_text, PLACE(rules)},
    {0},
};
/* clang-format on */

static int read_arguments(int argc, char **argv, struct night *night, int *operand)
{
    *operand = mt_options_read(night->command, argc, argv, night);
    if (*operand < 0)
        return MT_EXIT_BAD;
    if (*operand == argc && !night->run.simulation.module)
        return mt_fail_usage(night->command, "no command to run given");
    if (!*night->folder)
        return mt_fail_usage(night->command, "the folder name is empty");
    if ((night->rules && mt_read_rules(night->rules, &night->check.rules)) ||
        mt_check_read_budget(&night->check, night->budget)) /* rules may define its categories */
        return MT_EXIT_BAD;
    night->check.are_nights = true;
    night->has_relative = mt_budget_relative(&night->check.budget);
    return 0;
}

/* --- folders --------------------------------------------------------------------------------- */

static int is_night(const struct dirent *entry)
{
    return *entry->d_name != '.';
}

/* A failed run has this file with the reason. It remains when the user accepts the run by moving it
 * to good/; limits then count from that run. */
#define WHY "bad.txt"

/* Read the name of the pinned run from the first line of a file. */
static void read_pinned(struct night *night)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/pinned", night->folder);
    FILE *in = fopen(path, "re");
    if (in && fgets(night->pinned, sizeof night->pinned, in))
        night->pinned[strcspn(night->pinned, "\r\n")] = '\0';
    if (in)
        fclose(in);
    snprintf(path, sizeof path, "%s/good/%s", night->folder, night->pinned);
    if (!*night->pinned || strchr(night->pinned, '/') || !mt_folder_has_traces(path)) {
        if (*night->pinned)
            mt_say("%s/pinned: no good run %s; pinning the oldest", night->folder, night->pinned);
        *night->pinned = '\0';
    }
}

static int write_text(const char *path, const char *text)
{
    struct mt_new_file file;
    int rc = mt_new_file_open(&file, path, 0);
    FILE *out = rc ? NULL : mt_new_file_stream(&file);
    if (out)
        fprintf(out, "%s\n", text);
    if (!rc)
        rc = mt_new_file_close(&file, out, 0);
    return rc ? mt_fail("%s: cannot write: %s", path, mt_output_error(rc)) : 0;
}

/* Pin a run, if none is pinned. */
static int pin(struct night *night, const char *name)
{
    char path[PATH_MAX];
    if (*night->pinned)
        return 0;
    snprintf(path, sizeof path, "%s/pinned", night->folder);
    snprintf(night->pinned, sizeof night->pinned, "%s", name);
    return write_text(path, name);
}

/* Note a run in good/, the newest first, to find the newest one that the user accepted, and the
 * oldest. */
static void note_good(struct night *night, const char *path, const char *name, char oldest[64])
{
    char why[PATH_MAX];
    snprintf(why, sizeof why, "%s/" WHY, path);
    if (!*night->accepted && !access(why, F_OK))
        snprintf(night->accepted, sizeof night->accepted, "%.63s", name);
    snprintf(oldest, 64, "%.63s", name);
}

/* Find the newest runs in good/ that have traces. */
static int find_good(struct night *night)
{
    char folder[PATH_MAX], oldest[64] = "";
    struct dirent **entries;
    snprintf(folder, sizeof folder, "%s/good", night->folder);
    int n = scandir(folder, &entries, is_night, alphasort);
    if (n < 0)
        return mt_fail("%s: %s", folder, strerror(errno));
    size_t first = COMPARED;
    for (int i = n - 1; i >= 0; i--) {
        char *path = NULL;
        bool is_good =
            asprintf(&path, "%s/%s", folder, entries[i]->d_name) >= 0 && mt_folder_has_traces(path);
        if (is_good)
            note_good(night, path, entries[i]->d_name, oldest);
        if (is_good && first)
            night->good[--first] = path;
        else
            free(path);
        free(entries[i]);
    }
    free(entries);
    night->n_good = COMPARED - first;
    memmove(night->good, night->good + first, night->n_good * sizeof *night->good);
    read_pinned(night);
    if (*oldest && pin(night, oldest))
        return MT_EXIT_BAD;
    if (strcmp(night->accepted, night->pinned) < 0)
        snprintf(night->accepted, sizeof night->accepted, "%s", night->pinned);
    return 0;
}

static int make_folder(const char *path)
{
    int rc = mt_check_output(path);
    if (!rc && mkdir(path, 0777) && errno != EEXIST)
        rc = -errno;
    return rc ? mt_fail("%s: %s", path, mt_output_error(rc)) : 0;
}

/* Begin a run in bad/, where it stays if it is interrupted. */
static int begin_night(struct night *night)
{
    char good[PATH_MAX], bad[PATH_MAX], date[32];
    time_t now = time(NULL);
    struct tm tm;
    if (strlen(night->folder) > PATH_MAX / 4)
        return mt_fail("%s: file name too long", night->folder);
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

/* Move the run to "good" or "bad". */
static int move_to(struct night *night, const char *to)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/%s", night->folder, to, night->name);
    if (!strcmp(night->path, path))
        return 0;
    if (rename(night->path, path))
        return mt_fail("%s: cannot move to %s: %s", night->path, path, strerror(errno));
    snprintf(night->path, sizeof night->path, "%s", path);
    return 0;
}

/* --- the night ------------------------------------------------------------------------------- */

extern char **environ;

/* Record the run. The variables that `run` sets are for the program, not for later commands (git).
 */
static int record(struct night *night, char *const *program)
{
    char output[2 * PATH_MAX];
    size_t n = 0, n_before = 0;
    for (const char *at = night->path; *at; at++) { /* a pattern needs % doubled */
        output[n++] = *at;
        if (*at == '%')
            output[n++] = '%';
    }
    snprintf(output + n, sizeof output - n, "/trace.mtap");
    while (environ[n_before])
        n_before++;
    char **before = calloc(n_before + 1, sizeof *before);
    if (!before)
        return mt_fail("out of memory");
    memcpy(before, environ, n_before * sizeof *before);
    night->run.setting[MT_ID_output] = output;
    night->run.is_night = true;
    int code = mt_run_record(night->command, &night->run, program);
    environ = before; /* for the life of the process */
    return code;
}

/* Add a folder's traces to a list. */
static int add_folder(struct mt_trace_list *list, const char *folder)
{
    char *path = (char *)folder;
    return mt_trace_list_add(list, &path, 1);
}

/* Check that every process's run is complete. tell: print the reason, unless a check of limits
 * will. */
static int check_end(struct night *night, bool is_verbose)
{
    struct mt_digests runs = {0};
    struct mt_trace_list list = {0};
    struct mt_budget none = {0};
    struct mt_check check = {0};
    int rc =
        add_folder(&list, night->path) || mt_digests_read(&runs, list.path, list.n, NULL) ||
        mt_check_make(&check, &none, &(struct mt_check_allowed){0}, runs.digest, runs.n, NULL, 0);
    night->is_complete = !rc && !check.broken;
    if (!rc && is_verbose && check.broken)
        mt_check_text(&check, stdout);
    int code = rc ? MT_EXIT_BAD : check.broken ? BROKEN : 0;
    if (!code && !mt_digests_are_complete(&runs, 0, "a run that passes"))
        code = MT_EXIT_BAD;
    mt_check_clear(&check);
    mt_digests_clear(&runs);
    mt_trace_list_clear(&list);
    return code;
}

/* Move a run that passes before its check prints paths, so that they stay valid. */
static void move_if_good(void *data, bool is_broken, struct mt_digests *runs)
{
    struct night *night = data;
    size_t before = strlen(night->path);
    bool is_good = !night->has_failed && !is_broken;
    for (size_t i = 0; i < runs->n; i++)
        is_good &= !*runs->digest[i].unsimulated;
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

static int add_good(struct night *night, struct mt_trace_list *list, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/good/%s", night->folder, name);
    return *name ? add_folder(list, path) : 0;
}

static int check(struct night *night, char *const *baselines, size_t n)
{
    if (add_good(night, &night->check.pinned, night->accepted) ||
        add_good(night, &night->check.since, night->pinned))
        return MT_EXIT_BAD;
    if (add_folder(&night->check.runs, night->path))
        return MT_EXIT_BAD;
    for (size_t i = 0; i < n; i++)
        if (add_folder(&night->check.baselines, baselines[i]))
            return MT_EXIT_BAD;
    return mt_check_traces(&night->check, move_if_good, night);
}

/* Check the run. The first run is its own baseline: absolute limits of the budget still count, and
 * all output is written. */
static int hold(struct night *night)
{
    char *own = night->path;
    bool is_own = !night->n_good && night->has_relative,
         has_outputs = night->check.n_outputs || night->check.summary;
    mt_check_set_outputs(&night->check);
    int code = check_end(night, is_own && !has_outputs);
    if (code == MT_EXIT_BAD)
        return code;
    if (!is_own)
        return check(night, night->good, night->n_good);
    return has_outputs || (night->budget && !code) ? check(night, &own, 1) : code;
}

static int keep_in_history(const struct night *night, const char *db)
{
    struct mt_trace_list list = {0};
    int code =
        add_folder(&list, night->path)
            ? MT_EXIT_BAD
            : mt_history_add_traces(night->command, db, night->check.rules, list.path, list.n);
    mt_trace_list_clear(&list);
    return code;
}

/* Print the changes since the last run that passed, and their commits. */
static void print_why(const struct night *night, const char *db)
{
    struct mt_trace_list old = {0}, now = {0};
    if (!night->n_good)
        return;
    putchar('\n');
    if (!add_folder(&old, night->good[night->n_good - 1]) && !add_folder(&now, night->path))
        mt_diff_traces(&old, &now, night->check.rules);
    mt_trace_list_clear(&old);
    mt_trace_list_clear(&now);
    putchar('\n');
    mt_history_print_trend(night->command, db);
}

/* Redirect further messages to stderr if a document was printed to stdout. */
static void leave_stdout(const struct mt_check_arguments *arguments)
{
    for (size_t i = 0; i < arguments->n_outputs; i++) {
        mt_check_printer *print = arguments->output[i].format->print;
        if (!*arguments->output[i].path && print != mt_check_text && print != mt_check_github) {
            fflush(stdout);
            dup2(STDERR_FILENO, STDOUT_FILENO);
        }
    }
}

static const char *why_bad(const struct night *night, int held)
{
    return held == MT_EXIT_BAD  ? "its memory could not be measured"
           : night->is_complete ? "a limit is broken"
                                : "the run is incomplete";
}

static int note_why(const struct night *night, int program, int held)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/" WHY, night->path);
    return write_text(path, program ? "the program failed" : why_bad(night, held));
}

static int finish(struct night *night, int program)
{
    char db[PATH_MAX + 16];
    night->has_failed = program != 0;
    int held = hold(night);
    leave_stdout(&night->check);
    bool is_good = !program && !held;
    int kept = move_to(night, is_good ? "good" : "bad") ? MT_EXIT_BAD : 0;
    snprintf(db, sizeof db, "%s/memory.db", night->folder);
    if (keep_in_history(night, db))
        kept = MT_EXIT_BAD;
    if (is_good ? pin(night, night->name) : note_why(night, program, held))
        kept = MT_EXIT_BAD;
    if (!is_good)
        print_why(night, db);
    if (is_good && !kept)
        mt_say("PASS: %s", night->path);
    else if (is_good)
        mt_say("PASS, but the run could not be moved to good/: %s", night->path);
    else if (program)
        mt_say("FAIL: the program ended with exit code %d%s: %s", program,
               program > 128 ? " (128 + signal)" : "", night->path);
    else
        mt_say("FAIL: %s: %s", why_bad(night, held), night->path);
    return program ? program : held ? held : kept;
}

/* Finish a run without traces. */
static int leave(const struct night *night, int program)
{
    rmdir(night->path);
    mt_say("FAIL: no trace was written%s", program ? ", and the program failed" : "");
    return program ? program : MT_EXIT_BAD;
}

int mt_run_nightly(const struct mt_command *command, int argc, char **argv)
{
    struct night night = {.command = command, .folder = "memtap-nightly"};
    int operand = 0, code = read_arguments(argc, argv, &night, &operand);
    if (!code && mt_simulation_is_list(&night.run.simulation)) {
        mt_simulation_list();
    } else if (!code && !(code = begin_night(&night))) {
        int program = record(&night, argv + operand);
        mt_bounds_begin();
        code = mt_folder_has_traces(night.path) ? finish(&night, program) : leave(&night, program);
    }
    for (size_t i = 0; i < night.n_good; i++)
        free(night.good[i]);
    mt_check_arguments_clear(&night.check);
    return code;
}
