/* SPDX-License-Identifier: Apache-2.0 */
#include "arguments.h"
#include "analyzer/support/text.h"
#include "tools/launch/program.h"
#include "tools/launch/pytorch-check.h"
#include "tools/launch/simulation.h"
#include "tools/terminal/values.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_TIMEOUT_S 1800

enum {
    FRACTION = 256,
    STEPS,
    TIMEOUT,
    PROCESSES,
    WORLD,
    RANK,
    PICTURE,
    FOLDER,
    ENVIRONMENT,
    VALUES,
    ALLOW_UNKNOWN
};

/* clang-format off */
const struct mt_option mt_fit_options[] = {
    {'s', "simulate", "CARDS", "the cards, with commas between; all: every one; list: print\nthem",
     "list all " MT_CARDS},
    {'V', "vary", "NAME=VALUES", "the values of {NAME} in the command: a range (1..512, of\n"
     "which the largest that fits is searched; 8..512+8) or a list\n"
     "(0,1); may be repeated"},
    {ENVIRONMENT, "env", "NAME", "this variable is one of the environment; names in capitals\n"
     "are, unless the command has {NAME}"},
    {FRACTION, "fraction", "F", "leave the rest of each card free: 0.95"},
    {STEPS, "steps", "N", "end each run after N iterations of training, or all: at the\n"
     "program's end; by default when its iterations repeat", "all"},
    {TIMEOUT, "timeout", "TIME", "give a run up after this time: 90s, 20m (30m)"},
    {'j', "jobs", "N", "make at most N runs at a time; by default as many as\nthere are processors and memory for"},
    {PROCESSES, "nproc", "N", "start the command N times, as ranks of a job with a card\neach, as torchrun does; may be {NAME} or {A}*{B}"},
    {WORLD, "world-size", "N", "run one rank of N, the others absent; may be {A}*{B}"},
    {RANK, "rank", "R", "be this rank of --world-size (0)"},
    {'n', "gpus", "N", "simulate N cards for a run; may be {NAME}"},
    {'m', "memory", "SIZE", "give the cards this memory instead of their own"},
    {VALUES, "values", "SIZE", "compute tensors up to this size (64K); 0: none"},
    {ALLOW_UNKNOWN, "allow-unknown", NULL, "show what fits though sizes hang on values that were\nnot computed"},
    {'f', "format", "FORMAT", "text (the default) or json", "text json"},
    {PICTURE, "picture", "FILE", "draw what fits into an SVG file"},
    {FOLDER, "folder", "FOLDER", "keep every run's traces and output there"},
    {'q', "quiet", NULL, "print no line about each run"},
    {0},
};
/* clang-format on */

struct typed {
    const struct mt_command *command;
    const char *cards, *memory, *module;
    const char *environment[MT_MOST_VARIABLES];
    size_t n_environment;
};

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
    if (job->fraction < 1) /* in whole MiB, as a user would type it */
        memory = (uint64_t)((double)memory * job->fraction) >> 20 << 20;
    if (memory < least)
        return mt_fail_usage(command, "%s on %s: a context needs %s", mt_size_text(size, memory),
                             gpu->name, mt_size_text(least_text, least));
    job->card[job->n_cards++] = (struct mt_fit_card){gpu, memory};
    return 0;
}

static int add_named_cards(struct mt_job *job, const struct mt_command *command, const char *names,
                           uint64_t memory)
{
    const char *at = names;
    int code = 0;
    do {
        size_t n = strcspn(at, ",");
        char *name = strndup(at, n);
        const struct sim_gpu *gpu = NULL;
        if (!name)
            return mt_fail("out of memory");
        code = n ? mt_simulation_find(command, name, &gpu)
                 : mt_fail_usage(command, "--simulate %s: a card's name is empty",
                                 *names ? names : "''");
        free(name);
        if (!code)
            code = add_card(job, command, gpu, memory);
        at += n;
    } while (!code && *at++);
    return code;
}

/* Read "h100,rtx4090" or "all", and a size for all of them (NULL: their own). */
static int read_cards(struct mt_job *job, const struct typed *typed)
{
    const struct mt_command *command = typed->command;
    uint64_t bytes = 0;
    int code = 0;
    if (!typed->cards && !typed->memory)
        return mt_fail_usage(command, "no card given; --simulate h100,rtx4090 or --simulate all");
    if (typed->memory && mt_read_size(command, "memory", typed->memory, &bytes))
        return MT_EXIT_BAD;
    if (typed->memory && !bytes)
        return mt_fail_usage(command, "--memory %s: a card has memory; give more, such as 24G",
                             typed->memory);
    job->is_smaller = typed->memory || job->fraction < 1;
    if (!typed->cards)
        return add_card(job, command, sim_gpu_default(), bytes);
    if (strcmp(typed->cards, "all"))
        return add_named_cards(job, command, typed->cards, bytes);
    for (size_t i = 0; !code && sim_gpu_at(i); i++)
        code = add_card(job, command, sim_gpu_at(i), bytes);
    return code;
}

/* --- options ---------------------------------------------------------------------------------- */

static int read_fraction(const struct typed *typed, const char *text, double *fraction)
{
    char *end;
    *fraction = strtod(text, &end);
    if ((isdigit((unsigned char)*text) || *text == '.') && !*end && *fraction > 0 && *fraction <= 1)
        return 0;
    return mt_fail_usage(typed->command,
                         "--fraction %s: not a number above 0 and up to 1, such as 0.95", text);
}

static int read_count(const struct typed *typed, const char *option, const char *text,
                      uint32_t *number)
{
    uint64_t value = 0;
    int code = mt_read_number(typed->command, option, text, 1, 1000000000, &value);
    *number = (uint32_t)value;
    return code;
}

static int read_vary(struct mt_job *job, const struct typed *typed, const char *text)
{
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
            return mt_fail_usage(typed->command, "--vary %s: the variable is given twice",
                                 variable->name);
    return 0;
}

static int note_environment(struct typed *typed, const char *name)
{
    if (typed->n_environment == MT_MOST_VARIABLES)
        return mt_fail_usage(typed->command, "more than %u variables", MT_MOST_VARIABLES);
    typed->environment[typed->n_environment++] = name;
    return 0;
}

static int read_one(struct mt_fit_arguments *arguments, struct typed *typed, int letter,
                    const char *value)
{
    struct mt_job *job = &arguments->job;
    const struct {
        int letter;
        const char **text;
    } texts[] = {{'s', &typed->cards},
                 {'m', &typed->memory},
                 {'n', &job->count[MT_JOB_CARDS]},
                 {PROCESSES, &job->count[MT_JOB_PROCESSES]},
                 {WORLD, &job->count[MT_JOB_RANKS]},
                 {RANK, &job->count[MT_JOB_RANK]},
                 {PICTURE, &arguments->picture},
                 {FOLDER, &arguments->folder}};
    uint64_t bytes;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].letter == letter) {
            *texts[i].text = value;
            return 0;
        }
    switch (letter) {
    case 'V':
        return read_vary(job, typed, value);
    case ENVIRONMENT:
        return note_environment(typed, value);
    case FRACTION:
        return read_fraction(typed, value, &job->fraction);
    case STEPS:
        job->steps = MT_ALL_STEPS;
        return strcmp(value, "all") ? read_count(typed, "steps", value, &job->steps) : 0;
    case TIMEOUT:
        return mt_read_time(typed->command, "timeout", value, 0.001, 1e9, &job->timeout_s);
    case 'j':
        return read_count(typed, "jobs", value, &arguments->jobs);
    case VALUES:
        job->values = value;
        return mt_read_size(typed->command, "values", value, &bytes);
    case ALLOW_UNKNOWN:
        job->allows_unknown = true;
        return 0;
    case 'f':
        return mt_read_format(typed->command, value, &arguments->format);
    default:
        arguments->is_quiet = true;
        return 0;
    }
}

/* Return whether a word of the command, or what else is filled in, has the variable. */
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
static int place_variables(struct mt_job *job, const struct typed *typed)
{
    for (size_t i = 0; i < typed->n_environment; i++) {
        size_t j = 0;
        while (j < job->n_variables && strcmp(job->variable[j].name, typed->environment[i]))
            j++;
        if (j == job->n_variables)
            return mt_fail_usage(typed->command, "--env %s: no --vary gives it values",
                                 typed->environment[i]);
        job->variable[j].is_environment = 1;
    }
    for (size_t i = 0; i < job->n_variables; i++) {
        struct mt_variable *variable = &job->variable[i];
        int is_there = has_place(job, variable->name);
        variable->is_environment |= !is_there && is_in_capitals(variable->name);
        if (!is_there && !variable->is_environment)
            return mt_fail_usage(
                typed->command,
                "--vary %s: the command has no {%s}; write it where the value belongs, or "
                "--env %s",
                variable->name, variable->name, variable->name);
    }
    return 0;
}

/* Check the numbers of ranks and cards, or the places for them. */
static int check_counts(const struct mt_job *job, const struct typed *typed)
{
    if (job->count[MT_JOB_RANK] && !job->count[MT_JOB_RANKS])
        return mt_fail_usage(typed->command, "--rank %s: of how many? Give --world-size too",
                             job->count[MT_JOB_RANK]);
    if (job->count[MT_JOB_PROCESSES] && job->count[MT_JOB_RANKS])
        return mt_fail_usage(typed->command, "--nproc starts all ranks, and --world-size one that "
                                             "is alone; give one of them");
    for (unsigned i = 0; i < MT_JOB_COUNT_LIMIT; i++) {
        const struct mt_job_count_form *form = &mt_job_count_form[i];
        const char *text = job->count[i];
        unsigned number;
        bool is_good = !text || mt_job_count_read(text, i, form->most, &number);
        for (size_t j = 0; !is_good && j < job->n_variables; j++)
            is_good = mt_has_place(text, job->variable[j].name);
        if (!is_good)
            return mt_fail_usage(typed->command,
                                 "--%s %s: not a number from %u to %u, nor the {NAME} of a --vary",
                                 form->option, text, form->least, form->most);
    }
    return 0;
}

/* Refuse a program that is not there, which need not be run five times. */
static int check_program(const struct mt_job *job)
{
    char path[PATH_MAX];
    if (strchr(job->words[0], '{') || mt_find_command(job->words[0], path) ||
        (strchr(job->words[0], '/') && !access(job->words[0], F_OK)))
        return 0;
    mt_say("%s: command not found", job->words[0]);
    return MT_EXIT_NOT_FOUND;
}

static int finish(struct mt_fit_arguments *arguments, const struct typed *typed,
                  char *const *operands)
{
    int code = 0, rc;
    struct mt_job *job = &arguments->job;
    arguments->program = mt_program_meant(typed->module, operands, &code);
    if (code)
        return code;
    job->words = arguments->program;
    while (job->words[job->n_words])
        job->n_words++;
    code = place_variables(job, typed);
    if (!code)
        code = check_counts(job, typed);
    if (!code)
        code = check_program(job);
    if (code)
        return code;
    rc = mt_job_finish(job);
    if (rc == -E2BIG)
        return mt_fail_usage(
            typed->command,
            "more than %u combinations of values besides the range that is searched",
            MT_MOST_LINES);
    return rc ? mt_fail("out of memory") : 0;
}

int mt_fit_arguments_read(struct mt_fit_arguments *arguments, const struct mt_command *command,
                          int argc, char **argv)
{
    struct typed typed = {.command = command};
    const char *value;
    int letter = 0, operand = 0, code = 0;
    *arguments = (struct mt_fit_arguments){.job = {.fraction = 1, .timeout_s = DEFAULT_TIMEOUT_S}};
    while (!typed.module && !code &&
           (letter = mt_options_next(command, argc, argv, &value, &operand)) > 0) {
        if (letter == 'm' && mt_is_module(value, argv, operand))
            typed.module = value;
        else
            code = read_one(arguments, &typed, letter, value);
    }
    if (code || letter < 0)
        return MT_EXIT_BAD;
    arguments->is_list = typed.cards && !strcmp(typed.cards, "list");
    if (arguments->is_list)
        return 0;
    if (operand == argc && !typed.module)
        return mt_fail_usage(command, "no command to run given");
    code = read_cards(&arguments->job, &typed);
    return code ? code : finish(arguments, &typed, argv + operand);
}

void mt_fit_arguments_clear(struct mt_fit_arguments *arguments)
{
    for (size_t i = 0; i < arguments->job.n_variables; i++)
        mt_variable_clear(&arguments->job.variable[i]);
    free(arguments->program);
}
