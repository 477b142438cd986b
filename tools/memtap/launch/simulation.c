/* SPDX-License-Identifier: Apache-2.0 */
#include "simulation.h"
#include "analyzer/support/text.h"
#include "locate.h"
#include "program.h"
#include "pytorch-check.h"
#include "setting-options.h"
#include "simulator/launch.h"
#include "tools/memtap/terminal/values.h"
#include "trace-format/settings/nearest.h"
#include "trace-format/settings/size.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int mt_note_last_choice(const struct mt_typed *typed)
{
    const char *choices = mt_setting_table[typed->option->place / sizeof(char *)].choices;
    *(const char **)typed->place = strrchr(choices, ' ') + 1;
    return 0;
}

int mt_note_memory(const struct mt_typed *typed)
{
    struct mt_simulation *simulation = typed->place;
    bool is_module = mt_is_module(typed->value, typed->argv, optind);
    *(is_module ? &simulation->module : &simulation->memory) = typed->value;
    return is_module ? MT_LAST_OPTION : 0;
}

bool mt_simulation_is_requested(const struct mt_simulation *simulation)
{
    return simulation->gpu || simulation->memory || simulation->gpus || simulation->values ||
           simulation->skew || simulation->seed || simulation->boxes || simulation->cudnn ||
           simulation->world_size || simulation->rank;
}

bool mt_simulation_is_list(const struct mt_simulation *simulation)
{
    return simulation->gpu && !strcmp(simulation->gpu, "list");
}

void mt_simulation_list(void)
{
    const struct sim_gpu *gpu;
    const char *alias;
    char size[MT_SIZE_TEXT];
    printf("%-14s %-34s %10s  %s\n", "name", "card", "memory", "compute");
    for (size_t i = 0; (gpu = sim_gpu_at(i)); i++)
        printf("%-14s %-34s %10s  %d.%d%s\n", gpu->name, gpu->product,
               mt_size_text(size, gpu->memory), gpu->major, gpu->minor,
               gpu == sim_launch_default_gpu() ? "  (the default)" : "");
    for (size_t i = 0; (alias = sim_gpu_alias_at(i, &gpu)); i++)
        printf("%-14s the same as %s\n", alias, gpu->name);
}

int mt_simulation_find(const struct mt_command *command, const char *name,
                       const struct sim_gpu **gpu)
{
    char why[512], meant[64];
    struct mt_nearest nearest = {.typed = name, .length = strlen(name)};
    const struct sim_gpu *one;
    uint64_t bytes;
    bool is_file = sim_gpu_is_file(name);
    *gpu = is_file ? sim_gpu_read(name, why, sizeof why) : sim_gpu_find(name);
    if (*gpu)
        return 0;
    if (is_file)
        return mt_fail("%s", why);
    /* A size has a unit; "4090" means a card. */
    if (!mt_size_parse(name, &bytes) && name[strspn(name, "0123456789")])
        return mt_fail_usage(command, "'%s' is a size, not a GPU; give it with --memory", name);
    for (size_t i = 0; (one = sim_gpu_at(i)); i++)
        mt_nearest_offer(&nearest, one->name);
    mt_nearest_text(&nearest, "", meant, sizeof meant);
    return mt_fail_usage(command, "unknown GPU '%.*s'%s", MT_TYPED_SHOWN, name,
                         *meant ? meant : "; 'list' prints all of them");
}

static int read_size(const struct mt_command *command, const char *option, const char *text,
                     uint64_t *bytes)
{
    return text ? mt_read_size(command, option, text, bytes) : 0;
}

/* Parse the memory. A card must have room for a context and one allocation. */
static int read_memory(const struct mt_command *command, const char *text,
                       struct sim_launch *launch)
{
    const struct sim_gpu *gpu = launch->gpu ? launch->gpu : sim_launch_default_gpu();
    uint64_t least = sim_launch_least_memory(gpu);
    char size[MT_SIZE_TEXT];
    int rc = read_size(command, "memory", text, &launch->memory);
    if (!rc && text && launch->memory < least)
        rc = mt_fail_usage(command,
                           "--memory %s: a context on %s alone needs %s; give more, "
                           "such as 24G",
                           text, gpu->name, mt_size_text(size, least));
    return rc;
}

/* Parse a limit, which may be 0. Without one, *given stays NULL. */
static int read_limit(const struct mt_command *command, const char *option, const char *text,
                      const uint64_t **given, uint64_t *limit)
{
    int rc = read_size(command, option, text, limit);
    if (!rc && text)
        *given = limit;
    return rc;
}

static int read_count(const struct mt_command *command, const char *option, const char *text,
                      unsigned most, unsigned *count)
{
    uint64_t number = 0;
    int rc = text ? mt_read_number(command, option, text, 1, most, &number) : 0;
    *count = (unsigned)number;
    return rc;
}

unsigned mt_simulation_turns(const struct mt_simulation *simulation)
{
    unsigned turns = 1;
    for (const char *at = simulation->rank; at && (at = strchr(at, ',')); at++)
        turns++;
    return turns;
}

/* Return whether a list of numbers contains a number before `at`. */
static bool has_rank(const char *ranks, const char *at, uint64_t rank)
{
    bool is_there = false;
    for (const char *each = ranks; each < at; each = strchr(each, ',') + 1)
        is_there |= strtoull(each, NULL, 10) == rank;
    return is_there;
}

/* Parse all ranks, and keep that of the turn. */
static int read_rank(const struct mt_command *command, const char *ranks, unsigned turn,
                     struct sim_launch *launch)
{
    uint64_t rank;
    int rc = 0;
    for (const char *at = ranks; !rc && at; turn--) {
        char word[16];
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        rc = length && length < sizeof word
                 ? mt_read_number(command, "rank", word, 0, launch->world_size - 1, &rank)
                 : mt_fail_usage(command, "--rank %s: expected comma-separated numbers", ranks);
        if (!rc && has_rank(ranks, at, rank))
            rc = mt_fail_usage(command, "--rank %s: rank %s is listed twice", ranks, word);
        if (!rc && !turn)
            launch->rank = (unsigned)rank;
        at = at[length] ? at + length + 1 : NULL;
    }
    return rc;
}

/* Programs that start every rank regardless of ours, with the option for the number of ranks on
 * this machine; NULL: none. */
static const struct starter {
    const char *name, *option;
} starters[] = {
    {"torchrun", "--nproc-per-node"},
    {"torch.distributed.run", "--nproc-per-node"},
    {"torch.distributed.launch", "--nproc-per-node"},
    {"accelerate", "--num-processes"},
    {"accelerate.commands.launch", "--num-processes"},
    {"deepspeed", "--num-gpus"},
    {"mpirun", NULL},
    {"mpiexec", NULL},
    {"srun", NULL},
    {"horovodrun", NULL},
};

static const struct starter *find_starter(char *const *words)
{
    const char *name = strrchr(words[0], '/');
    name = name ? name + 1 : words[0];
    if (words[1] && words[2] && !strcmp(words[1], "-m"))
        name = words[2];
    for (size_t i = 0; i < sizeof starters / sizeof *starters; i++)
        if (!strcmp(name, starters[i].name))
            return &starters[i];
    return NULL;
}

static int check_starter(char *const *words)
{
    const struct starter *starter = find_starter(words);
    return starter ? mt_fail("%s starts all ranks, but --world-size simulates only one of them; "
                             "run the program that it starts",
                             starter->name)
                   : 0;
}

/* Return the value of an option, in which - may be _; "" without a value; NULL: another word. */
static const char *value_of(const char *option, char *const *at)
{
    size_t length = strlen(option);
    for (size_t i = 0; i < length; i++)
        if ((*at)[i] != option[i] && !(i > 1 && option[i] == '-' && (*at)[i] == '_'))
            return NULL;
    return (*at)[length] == '=' ? *at + length + 1 : (*at)[length] ? NULL : at[1] ? at[1] : "";
}

/* Simulate a card for each rank that a program starts. Words such as "gpu" mean the number of
 * cards. */
static int count_cards(char *const *words, struct sim_launch *launch)
{
    const struct starter *starter = find_starter(words);
    const char *value = NULL;
    for (char *const *at = words; starter && starter->option && *at && !value; at++)
        value = value_of(starter->option, at);
    unsigned long long number = value && *value && strspn(value, "0123456789") == strlen(value)
                                    ? strtoull(value, NULL, 10)
                                    : 0;
    if (number > SIM_MAX_GPUS)
        return mt_fail("%s %s %s: a simulated machine has up to %d cards; simulate one rank of "
                       "the program that it starts, with --world-size %s",
                       starter->name, starter->option, value, SIM_MAX_GPUS, value);
    launch->gpus = (unsigned)number;
    /* For deepspeed, -1 means all cards. */
    if (value && strspn(value, "-0123456789") == strlen(value) && atoi(value) != -1 && !number)
        return mt_fail("%s %s %s: expected at least 1 rank", starter->name, starter->option, value);
    return 0;
}

int mt_simulation_card(const struct mt_command *command, const struct mt_simulation *simulation,
                       const char **name, uint64_t *memory)
{
    struct sim_launch launch = {0};
    if (simulation->gpu && mt_simulation_find(command, simulation->gpu, &launch.gpu))
        return MT_EXIT_BAD;
    int rc = read_size(command, "memory", simulation->memory, &launch.memory);
    if (!rc && simulation->memory && !launch.memory)
        rc = mt_fail_usage(command, "--memory %s: must be positive, such as 24G",
                           simulation->memory);
    *name = launch.gpu ? launch.gpu->product : NULL;
    *memory = simulation->memory ? launch.memory : launch.gpu ? launch.gpu->memory : 0;
    return rc;
}

static bool is_supported(void)
{
#ifdef __x86_64__
    return true;
#else
    return false;
#endif
}

/* Read the options, and check that the program can run with them. */
static int read_launch(const struct mt_command *command, const struct mt_simulation *simulation,
                       char *const *program, struct sim_launch *launch)
{
    static uint64_t copy_limit, values;
    if (simulation->gpu && mt_simulation_find(command, simulation->gpu, &launch->gpu))
        return MT_EXIT_BAD;
    int rc = read_memory(command, simulation->memory, launch);
    if (!rc)
        rc = read_limit(command, "copy-limit", simulation->copy_limit, &launch->copy_limit,
                        &copy_limit);
    if (!rc)
        rc = read_limit(command, "values", simulation->values, &launch->values, &values);
    launch->skew = simulation->skew;
    launch->cudnn = simulation->cudnn;
    if (!rc && simulation->seed)
        rc = mt_read_number(command, "seed", simulation->seed, 0, UINT32_MAX, &launch->seed);
    if (!rc && simulation->boxes)
        rc = mt_read_number(command, "boxes", simulation->boxes, 0, UINT32_MAX, &launch->boxes);
    if (!rc)
        rc = read_count(command, "gpus", simulation->gpus, SIM_MAX_GPUS, &launch->gpus);
    if (!rc)
        rc = read_count(command, "world-size", simulation->world_size, SIM_MAX_RANKS,
                        &launch->world_size);
    if (!rc && simulation->rank && !launch->world_size)
        rc = mt_fail_usage(command, "--rank %s requires --world-size", simulation->rank);
    if (!rc && launch->world_size)
        rc = check_starter(program);
    else if (!rc && !simulation->gpus)
        rc = count_cards(program, launch);
    return rc;
}

/* Fill in a turn's launch; *folder: the simulated device's folder. */
static int check(const struct mt_command *command, const struct mt_simulation *simulation,
                 char *const *program, unsigned turn, struct sim_launch *launch,
                 char folder[MT_PLACE_SIZE])
{
    char pytorch[MT_PLACE_SIZE];
    if (!is_supported())
        return mt_fail("the simulated device needs an x86-64 machine");
    int rc = read_launch(command, simulation, program, launch);
    if (!rc)
        rc = read_rank(command, simulation->rank, turn, launch);
    if (rc)
        return rc;
    if (mt_locate_simulator(folder))
        return mt_fail("%s: the simulated device is missing; build or install it", folder);
    if (mt_pytorch_of(program[0], pytorch) == MT_PYTORCH_CPU)
        return mt_fail("%s: this PyTorch is the CPU build, without CUDA, and would find no "
                       "device; install its CUDA build",
                       pytorch);
    return 0;
}

int mt_simulation_check(const struct mt_command *command, const struct mt_simulation *simulation,
                        char *const *program)
{
    struct sim_launch launch = {0};
    char folder[MT_PLACE_SIZE];
    return check(command, simulation, program, 0, &launch, folder);
}

/* Set how many ranks this one stands for, which the trace records. */
static int set_stands_for(const struct mt_simulation *simulation, unsigned turn)
{
    char number[16];
    if (!simulation->stands_for)
        return 0;
    snprintf(number, sizeof number, "%u", simulation->stands_for[turn]);
    return setenv("CUDASIM_STANDS_FOR", number, 1) ? mt_fail("out of memory") : 0;
}

void mt_simulation_say_failed(const struct mt_simulation *simulation, int code)
{
    const char *rank = getenv("RANK");
    if (code && code < MT_EXIT_NOT_EXECUTABLE && simulation->world_size && rank &&
        strcmp(rank, "0"))
        mt_say("rank %s of %s ended with exit code %d; if it needs what another rank writes or "
               "broadcasts, run that rank first: --rank 0,%s",
               rank, simulation->world_size, code, rank);
}

int mt_simulation_prepare(const struct mt_command *command, const struct mt_simulation *simulation,
                          char *const *program, unsigned turn)
{
    char folder[MT_PLACE_SIZE], why[512];
    struct sim_launch launch = {.libdir = folder};
    int rc = check(command, simulation, program, turn, &launch, folder);
    if (!rc && sim_launch_prepare(&launch, why, sizeof why))
        rc = mt_fail("%s", why);
    return rc ? rc : set_stands_for(simulation, turn);
}
