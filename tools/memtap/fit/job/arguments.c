/* SPDX-License-Identifier: Apache-2.0 */
#include "arguments.h"
#include "analyzer/support/text.h"
#include "tools/memtap/launch/program.h"
#include "tools/memtap/launch/pytorch-check.h"
#include "tools/memtap/launch/setting-options.h"
#include "tools/memtap/terminal/values.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_TIMEOUT_S 1800
#define MOST_COUNT 1000000000

/* --- cards ------------------------------------------------------------------------------------ */

static int add_card(struct mt_job *job, const struct mt_command *command, const struct sim_gpu *gpu,
                    uint64_t memory)
{
    char size[MT_SIZE_TEXT], least_text[MT_SIZE_TEXT];
    uint64_t least = sim_launch_least_memory(gpu);
    for (size_t i = 0; i < job->n_cards; i++)
        if (job->card[i].gpu == gpu)
            return mt_fail_usage(command, "--simulate: %s is given twice", gpu->name);
    if (job->n_cards == MT_MOST_FIT_CARDS)
        return mt_fail_usage(command, "--simulate: more than %u cards", MT_MOST_FIT_CARDS);
    memory = memory ? memory : gpu->memory;
    if (job->fraction < 1) /* in MiB, as a user would type it */
        memory = (uint64_t)((double)memory * job->fraction) >> 20 << 20;
    if (memory < least)
        return mt_fail_usage(command, "%s on %s: a context alone needs %s",
                             mt_size_text(size, memory), gpu->name,
                             mt_size_text(least_text, least));
    job->card[job->n_cards++] = (struct mt_fit_card){gpu, memory};
    return 0;
}

static int add_named_cards(struct mt_job *job, const struct mt_command *command, const char *names,
                           uint64_t memory)
{
    char *copy = strdup(names), *rest = copy, *name;
    int code = copy ? 0 : mt_fail("out of memory");
    while (!code && (name = strsep(&rest, ","))) {
        const struct sim_gpu *gpu = NULL;
        code = *name ? mt_simulation_find(command, name, &gpu)
                     : mt_fail_usage(command, "--simulate %s: a card's name is empty",
                                     *names ? names : "''");
        if (!code)
            code = add_card(job, command, gpu, memory);
    }
    free(copy);
    return code;
}

/* Read "h100,rtx4090" or "all", and a size for all of them (NULL: their own). */
static int read_cards(struct mt_fit_arguments *arguments, const struct mt_command *command)
{
    struct mt_job *job = &arguments->job;
    const char *cards = job->simulation.gpu, *memory = job->simulation.memory;
    uint64_t bytes = 0;
    int code = 0;
    if (!cards && !memory)
        return mt_fail_usage(command, "no card given; --simulate h100,rtx4090 or --simulate all");
    if (memory && mt_read_size(command, "memory", memory, &bytes))
        return MT_EXIT_BAD;
    if (memory && !bytes)
        return mt_fail_usage(command, "--memory %s: must be positive, such as 24G", memory);
    job->is_smaller = memory || job->fraction < 1;
    if (!cards)
        return add_card(job, command, sim_gpu_default(), bytes);
    if (strcmp(cards, "all"))
        return add_named_cards(job, command, cards, bytes);
    for (size_t i = 0; !code && sim_gpu_at(i); i++)
        code = add_card(job, command, sim_gpu_at(i), bytes);
    return code;
}

/* --- options ---------------------------------------------------------------------------------- */

static int note_fraction(const struct mt_typed *typed)
{
    const char *text = typed->value;
    char *end;
    double *fraction = typed->place;
    *fraction = strtod(text, &end);
    if ((isdigit((unsigned char)*text) || *text == '.') && !*end && *fraction > 0 && *fraction <= 1)
        return 0;
    return mt_fail_usage(
        typed->command, "--fraction %s: expected a number above 0 and up to 1, such as 0.95", text);
}

static int note_steps(const struct mt_typed *typed)
{
    *(uint32_t *)typed->place = MT_ALL_STEPS;
    return strcmp(typed->value, "all") ? mt_note_small_number(typed) : 0;
}

static int note_timeout(const struct mt_typed *typed)
{
    return mt_read_time(typed->command, "timeout", typed->value, 0.001, 1e9, typed->place);
}

static int note_vary(const struct mt_typed *typed)
{
    struct mt_job *job = typed->place;
    const char *text = typed->value;
    char wrong[128] = "";
    if (job->n_variables == MT_MOST_VARIABLES)
        return mt_fail_usage(typed->command, "more than %u variables", MT_MOST_VARIABLES);
    struct mt_variable *variable = &job->variable[job->n_variables++];
    int rc = mt_variable_read(variable, text, wrong, sizeof wrong);
    if (rc == -ENOMEM)
        return mt_fail("out of memory");
    if (rc)
        return mt_fail_usage(typed->command, "--vary %s %s", *text ? text : "''", wrong);
    for (size_t i = 0; i + 1 < job->n_variables; i++)
        if (!strcmp(job->variable[i].name, variable->name))
            return mt_fail_usage(typed->command, "--vary %s: given twice", variable->name);
    return 0;
}

static int note_environment(const struct mt_typed *typed)
{
    struct mt_fit_arguments *arguments = typed->arguments;
    return mt_append_text(typed, arguments->environment, &arguments->n_environment,
                          MT_MOST_VARIABLES, "variables");
}

/* clang-format off */
#define PLACE(member) offsetof(struct mt_fit_arguments, member)
#define TEXT(member) NULL, mt_note_text, PLACE(member)
const struct mt_option mt_fit_options[] = {
    {'s', "simulate", "CARDS", "comma-separated cards; all: every one; list: print them",
     "list all " MT_CARDS, mt_note_text, PLACE(job.simulation.gpu)},
    {'V', "vary", "NAME=VALUES", "the values of {NAME} in the command: a list (0,1), or a\n"
                                 "range (1..512, 8..512+8), in which memtap fit finds the\n"
                                 "largest that fits; may be repeated", NULL, note_vary, PLACE(job)},
    {0, "env", "NAME", "pass this variable through the environment; the default\n"
                       "for names in capitals, unless the command has {NAME}", NULL, note_environment},
    {0, "fraction", "F", "use at most this part of each card, such as 0.95", NULL, note_fraction, PLACE(job.fraction)},
    {0, "steps", "N", "end each run after N training iterations, or all: run to\n"
                      "the end; by default until iterations repeat", "all", note_steps, PLACE(job.steps), 1, MOST_COUNT},
    {0, "timeout", "TIME", "stop a run after this time: 90s, 20m (30m)", NULL, note_timeout, PLACE(job.timeout_s)},
    {'j', "jobs", "N", "run at most N at a time; by default as many as processors\nand memory "
                       "allow", NULL,
     mt_note_small_number, PLACE(jobs), 1, MOST_COUNT},
    {0, "nproc", "N", "start the command N times as torchrun does, a card for\neach rank; may be "
                      "{NAME} or {A}*{B}",
     TEXT(job.count[MT_JOB_PROCESSES])},
    {0, "world-size", "N", "run one rank of N without the others; may be {A}*{B}, "
                           "or\n{A}*{B}=64, which leaves out other layouts",
     TEXT(job.count[MT_JOB_RANKS])},
    {0, "rank", "R", "the rank of --world-size to run (0); all-different: one\nof each kind", MT_ALL_DIFFERENT, mt_note_text,
     PLACE(job.count[MT_JOB_RANK])},
    {'n', "gpus", "N", "simulate N cards for a run; may be {NAME}", TEXT(job.count[MT_JOB_CARDS])},
    MT_MEMORY_OPTION(PLACE(job.simulation), "the cards' memory, instead of their own"),
    MT_MADE_UP_OPTIONS(PLACE(job.simulation)),
    {0, "allow-unknown", NULL, "show what fits even if sizes depend on values that were\nnot "
                               "simulated", NULL, mt_note_flag,
     PLACE(job.allows_unknown)},
    MT_FORMAT_OPTION(mt_fit_arguments, format, "text (the default) or json", "text json"),
    {0, "picture", "FILE", "write a chart of what fits to an SVG file", TEXT(picture)},
    MT_FORCE_OPTION,
    {0, "folder", "FOLDER", "keep every run's traces and output in this folder", TEXT(folder)},
    {'q', "quiet", NULL, "do not print a line for each run", NULL, mt_note_flag, PLACE(is_quiet)},
    {0},
};
/* clang-format on */

/* Return whether the command or another option uses the variable. */
static bool has_place(const struct mt_job *job, const char *name)
{
    for (size_t i = 0; i < job->n_words; i++)
        if (mt_has_place(job->words[i], name))
            return 1;
    for (size_t i = 0; i < MT_JOB_COUNT_LIMIT; i++)
        if (job->count[i] && mt_has_place(job->count[i], name))
            return 1;
    return 0;
}

static bool is_in_capitals(const char *name)
{
    for (; *name; name++)
        if (!isupper((unsigned char)*name) && !isdigit((unsigned char)*name) && *name != '_')
            return 0;
    return 1;
}

/* Place each variable in the command or in the environment. */
static int place_variables(struct mt_fit_arguments *arguments, const struct mt_command *command)
{
    struct mt_job *job = &arguments->job;
    for (size_t i = 0; i < arguments->n_environment; i++) {
        size_t j = 0;
        while (j < job->n_variables && strcmp(job->variable[j].name, arguments->environment[i]))
            j++;
        if (j == job->n_variables)
            return mt_fail_usage(command, "--env %s: no --vary gives its values",
                                 arguments->environment[i]);
        job->variable[j].is_environment = 1;
    }
    for (size_t i = 0; i < job->n_variables; i++) {
        struct mt_variable *variable = &job->variable[i];
        bool is_there = has_place(job, variable->name);
        variable->is_environment |= !is_there && is_in_capitals(variable->name);
        if (!is_there && !variable->is_environment)
            return mt_fail_usage(
                command,
                "--vary %s: no {%s} in the command; add it where the value belongs, or give "
                "--env %s",
                variable->name, variable->name, variable->name);
    }
    return 0;
}

/* Return the first {NAME} without a variable; NULL: none. */
static const char *find_unfilled(const struct mt_job *job, const char *text)
{
    for (; (text = strchr(text, '{')); text++) {
        size_t i = 0;
        while (i < job->n_variables && !mt_place_length(text, job->variable[i].name))
            i++;
        if (i == job->n_variables)
            return text;
    }
    return NULL;
}

/* Check the numbers of ranks and cards and their variables. */
static int check_counts(struct mt_job *job, const struct mt_command *command)
{
    if (job->count[MT_JOB_RANK] && !job->count[MT_JOB_RANKS])
        return mt_fail_usage(command, "--rank %s requires --world-size", job->count[MT_JOB_RANK]);
    if (job->count[MT_JOB_PROCESSES] && job->count[MT_JOB_RANKS])
        return mt_fail_usage(command, "--nproc (all ranks) cannot be combined with --world-size "
                                      "(one rank)");
    job->finds_ranks =
        job->count[MT_JOB_RANK] && !strcmp(job->count[MT_JOB_RANK], MT_ALL_DIFFERENT);
    if (job->finds_ranks)
        job->count[MT_JOB_RANK] = NULL;
    for (unsigned i = 0; i < MT_JOB_COUNT_LIMIT; i++) {
        const struct mt_job_count_form *form = &mt_job_count_form[i];
        const char *text = job->count[i];
        unsigned number;
        const char *unfilled = text ? find_unfilled(job, text) : NULL;
        if (unfilled)
            return mt_fail_usage(command, "--%s %s: no --vary gives the values of %.*s",
                                 form->option, text, (int)strcspn(unfilled, "*="), unfilled);
        const char *equals = text ? strchr(text, '=') : NULL;
        if (equals && (i != MT_JOB_RANKS || !mt_job_count_read(equals + 1, i, form->most, &number)))
            return mt_fail_usage(command,
                                 "--%s %s: expected a number of ranks after =", form->option, text);
        if (text && !strchr(text, '{') && !mt_job_count_read(text, i, form->most, &number))
            return mt_fail_usage(command,
                                 "--%s %s: expected a number from %u to %u or the {NAME} of a "
                                 "--vary",
                                 form->option, text, form->least, form->most);
    }
    return 0;
}

/* Refuse a missing program once, instead of in each run. */
static int check_program(const struct mt_job *job)
{
    char path[PATH_MAX];
    if (strchr(job->words[0], '{') || mt_find_command(job->words[0], path) ||
        (strchr(job->words[0], '/') && !access(job->words[0], F_OK)))
        return 0;
    mt_say("%s: command not found", job->words[0]);
    return MT_EXIT_NOT_FOUND;
}

/* Check each line's numbers before its run would fail. */
static int check_lines(const struct mt_job *job, const struct mt_command *command)
{
    char why[128], values[400];
    unsigned count[MT_JOB_COUNT_LIMIT];
    for (size_t line = 0; line < job->n_lines; line++) {
        struct mt_choice choice = {line, 0};
        if (!mt_job_counts(job, choice, count, why, sizeof why))
            continue;
        mt_choice_text(job, choice, values, sizeof values);
        return mt_fail_usage(command, "%s%s%s", values, *values ? ": " : "", why);
    }
    return 0;
}

static int finish(struct mt_fit_arguments *arguments, const struct mt_command *command,
                  char *const *operands)
{
    int code = 0, rc;
    struct mt_job *job = &arguments->job;
    arguments->program = mt_program_meant(job->simulation.module, operands, &code);
    if (code)
        return code;
    job->words = arguments->program;
    while (job->words[job->n_words])
        job->n_words++;
    code = place_variables(arguments, command);
    if (!code)
        code = check_counts(job, command);
    if (!code)
        code = check_program(job);
    if (code)
        return code;
    rc = mt_job_finish(job);
    if (rc == -E2BIG)
        return mt_fail_usage(command,
                             "more than %u combinations of values, not counting the searched range",
                             MT_MOST_LINES);
    if (rc == -ENOENT)
        return mt_fail_usage(command,
                             "--world-size %s: no combination of --vary values gives this number",
                             job->count[MT_JOB_RANKS]);
    return rc ? mt_fail("out of memory") : check_lines(job, command);
}

int mt_fit_arguments_read(struct mt_fit_arguments *arguments, const struct mt_command *command,
                          int argc, char **argv)
{
    *arguments = (struct mt_fit_arguments){.job = {.fraction = 1, .timeout_s = DEFAULT_TIMEOUT_S}};
    int operand = mt_options_read(command, argc, argv, arguments);
    if (operand < 0)
        return MT_EXIT_BAD;
    arguments->is_list = mt_simulation_is_list(&arguments->job.simulation);
    if (arguments->is_list)
        return 0;
    if (operand == argc && !arguments->job.simulation.module)
        return mt_fail_usage(command, "no command to run given");
    int code = read_cards(arguments, command);
    return code ? code : finish(arguments, command, argv + operand);
}

void mt_fit_arguments_clear(struct mt_fit_arguments *arguments)
{
    mt_job_clear(&arguments->job);
    free(arguments->program);
}
