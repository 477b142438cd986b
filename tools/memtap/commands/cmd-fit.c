/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/new-file.h"
#include "commands.h"
#include "tools/memtap/fit/job/arguments.h"
#include "tools/memtap/fit/show/show.h"
#include "tools/memtap/launch/manifest.h"
#include "tools/memtap/terminal/command.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIPED_COLUMNS 100

enum { NOTHING_FITS = 1 };

/* Check that the simulated device exists and PyTorch can use it, in a child process since this
 * changes the environment. Return 0, or an exit code after a message. */
static int try_simulation(const struct mt_command *command, const struct mt_job *job)
{
    struct mt_simulation simulation = job->simulation;
    int status;
    simulation.gpu = job->card[0].gpu->name;
    simulation.memory = NULL;
    pid_t pid = fork();
    if (!pid)
        _exit(mt_simulation_prepare(command, &simulation, job->words, 0));
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return mt_fail("cannot start a process: %s", strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : MT_EXIT_BAD;
}

static int make_kept(struct mt_fit_arguments *arguments, char out[PATH_MAX])
{
    if (!arguments->folder)
        return 0;
    int rc = mt_check_output(arguments->folder);
    if (!rc && mkdir(arguments->folder, 0777) && errno != EEXIST)
        rc = -errno;
    if (rc)
        return mt_fail("%s: %s", arguments->folder, mt_output_error(rc));
    arguments->job.kept = out; /* absolute, since runs may change their working directory */
    return realpath(arguments->folder, out) ? 0
                                            : mt_fail("%s: %s", arguments->folder, strerror(errno));
}

/* Check early that the picture can be written, not after hours of runs. */
static int check_picture(const char *path)
{
    struct mt_new_file file;
    int rc = path ? mt_new_file_open(&file, path, 0) : 0;
    if (path && !rc)
        mt_new_file_drop(&file);
    return rc ? mt_fail("%s: %s", path, mt_output_error(rc)) : 0;
}

/* Print the table and the notes, or JSON. Return 0 or a negative errno. */
static int print(const struct mt_fit_answers *answers, enum mt_format format)
{
    const struct mt_style style = mt_terminal_style();
    unsigned width = style.columns ? style.columns : PIPED_COLUMNS;
    if (format == MT_FORMAT_JSON)
        return mt_fit_print_json(answers);
    int rc = mt_fit_print_table(answers, &style, width);
    putchar('\n');
    if (!rc)
        mt_fit_print_notes(answers, &style, width);
    return rc;
}

/* Return 2 if an answer is unknown, 1 if no value fits a card. */
static int judge(const struct mt_fit_answers *answers)
{
    size_t open = 0, fitting_cards = 0;
    for (size_t card = 0; card < answers->job->n_cards; card++)
        fitting_cards += mt_fit_answers_fullest(answers, card) != NULL;
    for (size_t i = 0; i < answers->n; i++)
        open += answers->of[i].verdict == MT_VERDICT_OPEN;
    return open ? MT_EXIT_BAD : fitting_cards < answers->job->n_cards ? NOTHING_FITS : 0;
}

static int show(const struct mt_fit *fit, const struct mt_fit_arguments *arguments)
{
    struct mt_fit_answers answers;
    const char *picture = arguments->picture;
    int rc = mt_fit_answers_collect(&answers, fit);
    if (!rc)
        rc = print(&answers, arguments->format);
    int code = !rc ? judge(&answers) : rc == -ENOMEM ? mt_fail("out of memory") : MT_EXIT_BAD;
    rc = !rc && picture ? mt_fit_picture(&answers, picture) : 0;
    free(answers.of);
    return rc ? mt_fail("%s: %s", picture, mt_output_error(rc)) : code;
}

static const char *unknown_of(const struct mt_fit *fit)
{
    for (size_t i = 0; i < fit->n_attempts; i++)
        if (fit->attempt[i].outcome && *fit->attempt[i].outcome->unknown)
            return fit->attempt[i].outcome->unknown;
    return "";
}

static void refuse_unknown(const struct mt_fit *fit)
{
    mt_say("%s, and less may fit; simulate larger values (--values SIZE), or pass --allow-unknown",
           unknown_of(fit));
}

static int make(struct mt_fit_arguments *arguments)
{
    struct mt_fit fit = {.job = &arguments->job,
                         .jobs = arguments->jobs,
                         .show = arguments->is_quiet ? NULL : mt_fit_show_run};
    int rc = mt_fit_make(&fit), code;
    if (rc == -EINTR && fit.signal != SIGPIPE)
        mt_say("interrupted after %zu runs; none is left running", fit.n_attempts);
    else if (rc == -ECANCELED)
        refuse_unknown(&fit);
    else if (rc && rc != -EINTR)
        mt_say("%s", strerror(-rc));
    if (!rc && *unknown_of(&fit))
        mt_say("%s, and less may fit", unknown_of(&fit));
    code = rc == -EINTR ? 128 + fit.signal : rc ? MT_EXIT_BAD : show(&fit, arguments);
    mt_fit_clear(&fit);
    return code;
}

int mt_run_fit(const struct mt_command *command, int argc, char **argv)
{
    struct mt_fit_arguments arguments;
    char temporary[PATH_MAX], kept[PATH_MAX];
    int code = mt_fit_arguments_read(&arguments, command, argc, argv);
    if (!code && arguments.is_list) {
        mt_simulation_list();
    } else if (!code) {
        code = try_simulation(command, &arguments.job);
        if (!code)
            code = check_picture(arguments.picture);
        if (!code)
            code = make_kept(&arguments, kept);
        if (!code)
            code = mt_temporary_folder("fit", temporary);
        if (!code) {
            arguments.job.temporary = temporary;
            code = make(&arguments);
            rmdir(temporary);
        }
        mt_fit_restore_sigpipe();
    }
    mt_fit_arguments_clear(&arguments);
    return code;
}
