/* SPDX-License-Identifier: Apache-2.0 */
#include "simulation.h"
#include "analyzer/support/nearest.h"
#include "analyzer/support/text.h"
#include "locate.h"
#include "pytorch-check.h"
#include "simulator/launch.h"
#include "tools/terminal/values.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    char names[1024] = "", why[MT_UNKNOWN_TEXT];
    const struct sim_gpu *one;
    size_t used = 0;
    if ((*gpu = sim_gpu_find(name)))
        return 0;
    for (size_t i = 0; (one = sim_gpu_at(i)) && used < sizeof names; i++)
        used +=
            (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? " " : "", one->name);
    return mt_fail_usage(command, "%s", mt_unknown_text(why, "GPU", name, strlen(name), names));
}

static int read_size(const struct mt_command *command, const char *option, const char *text,
                     uint64_t *bytes)
{
    return text ? mt_read_size(command, option, text, bytes) : 0;
}

/* A card must have room for a context and one allocation. */
static int read_memory(const struct mt_command *command, const char *text,
                       struct sim_launch *launch)
{
    const struct sim_gpu *gpu = launch->gpu ? launch->gpu : sim_launch_default_gpu();
    uint64_t least = sim_launch_least_memory(gpu);
    char size[MT_SIZE_TEXT];
    int rc = read_size(command, "memory", text, &launch->memory);
    if (!rc && text && launch->memory < least)
        rc = mt_fail_usage(command, "--memory %s: a context on %s needs %s; give more, such as 24G",
                           text, gpu->name, mt_size_text(size, least));
    return rc;
}

/* 0 is a limit too. *given stays NULL without one. */
static int read_limit(const struct mt_command *command, const char *option, const char *text,
                      const uint64_t **given, uint64_t *limit)
{
    int rc = read_size(command, option, text, limit);
    if (!rc && text)
        *given = limit;
    return rc;
}

static int read_count(const struct mt_command *command, const char *text, unsigned *count)
{
    uint64_t number = 1;
    int rc = text ? mt_read_number(command, "gpus", text, 1, SIM_MAX_GPUS, &number) : 0;
    *count = (unsigned)number;
    return rc;
}

int mt_simulation_card(const struct mt_command *command, const struct mt_simulation *simulation,
                       const char **name, uint64_t *memory)
{
    struct sim_launch launch = {0};
    if (simulation->gpu && mt_simulation_find(command, simulation->gpu, &launch.gpu))
        return MT_EXIT_BAD;
    int rc = read_size(command, "memory", simulation->memory, &launch.memory);
    if (!rc && simulation->memory && !launch.memory)
        rc = mt_fail_usage(command, "--memory %s: a card has memory; give more, such as 24G",
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

int mt_simulation_prepare(const struct mt_command *command, const struct mt_simulation *simulation,
                          const char *program)
{
    char folder[MT_PLACE_SIZE], why[512];
    struct sim_launch launch = {.libdir = folder};
    uint64_t copy_limit, values;
    if (!is_supported())
        return mt_fail("the simulated device needs an x86-64 machine");
    if (simulation->gpu && mt_simulation_find(command, simulation->gpu, &launch.gpu))
        return MT_EXIT_BAD;
    int rc = read_memory(command, simulation->memory, &launch);
    if (!rc)
        rc = read_limit(command, "copy-limit", simulation->copy_limit, &launch.copy_limit,
                        &copy_limit);
    if (!rc)
        rc = read_limit(command, "values", simulation->values, &launch.values, &values);
    if (!rc)
        rc = read_count(command, simulation->gpus, &launch.gpus);
    if (rc)
        return rc;
    if (mt_locate_simulator(folder))
        return mt_fail("%s: the simulated device is missing; build or install it", folder);
    if (sim_launch_prepare(&launch, why, sizeof why))
        return mt_fail("%s", why);
    if (mt_pytorch_of(program, folder) == MT_PYTORCH_CPU)
        return mt_fail("%s: this PyTorch is the CPU build, without CUDA, so it would see no "
                       "device; install its CUDA build",
                       folder);
    return 0;
}
