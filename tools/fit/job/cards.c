/* SPDX-License-Identifier: Apache-2.0 */
#include "cards.h"
#include "analyzer/support/nearest.h"
#include "analyzer/support/text.h"
#include "settings/size.h"
#include "simulator/launch.h"

#include <stdio.h>
#include <string.h>

static int fail_unknown(const struct mt_command *command, const char *name)
{
    char meant[64];
    const struct sim_gpu *gpu;
    struct mt_nearest nearest = {.typed = name, .length = strlen(name)};
    for (size_t i = 0; (gpu = sim_gpu_at(i)); i++)
        mt_nearest_offer(&nearest, gpu->name);
    return mt_fail_usage(command, "--simulate: unknown card '%s'%s", name,
                         nearest.found ? mt_nearest_text(&nearest, "", meant, sizeof meant)
                                       : "; memtap fit --simulate list prints all of them");
}

static int add(struct mt_job *job, const struct mt_command *command, const struct sim_gpu *gpu,
               uint64_t memory)
{
    char size[MT_SIZE_TEXT], least_text[MT_SIZE_TEXT];
    uint64_t least = sim_launch_least_memory(gpu);
    for (size_t i = 0; i < job->n_cards; i++)
        if (job->card[i].gpu == gpu)
            return mt_fail_usage(command, "--simulate: %s is given twice", gpu->name);
    if (job->n_cards == MT_MOST_FIT_CARDS)
        return mt_fail_usage(command, "--simulate: more than %u cards", MT_MOST_FIT_CARDS);
    if (!memory)
        memory = gpu->memory;
    if (job->fraction < 1) /* in whole MiB, as a user would type it */
        memory = (uint64_t)((double)memory * job->fraction) >> 20 << 20;
    if (memory < least)
        return mt_fail_usage(command, "%s on %s: a context needs %s", mt_size_text(size, memory),
                             gpu->name, mt_size_text(least_text, least));
    job->card[job->n_cards++] = (struct mt_fit_card){gpu, memory};
    return 0;
}

static int add_named(struct mt_job *job, const struct mt_command *command, const char *names,
                     uint64_t memory)
{
    char name[64];
    int code = 0;
    for (const char *at = names; !code; at++) {
        size_t n = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        const struct sim_gpu *gpu = n < sizeof name ? sim_gpu_find(name) : NULL;
        if (!n)
            return mt_fail_usage(command, "--simulate %s: a card's name is empty",
                                 *names ? names : "''");
        code = gpu ? add(job, command, gpu, memory) : fail_unknown(command, name);
        at += n;
        if (!*at)
            break;
    }
    return code;
}

int mt_fit_cards_read(struct mt_job *job, const struct mt_command *command, const char *names,
                      const char *memory)
{
    uint64_t bytes = 0;
    int code = 0;
    if (!names && !memory)
        return mt_fail_usage(command, "no card given; --simulate h100,rtx4090 or --simulate all");
    char wrong[MT_SIZE_WRONG];
    int rc = memory ? mt_size_parse(memory, &bytes) : 0;
    if (rc)
        return mt_fail_usage(command, "--memory '%s' %s", memory,
                             mt_size_wrong(memory, rc, wrong, sizeof wrong));
    if (memory && !bytes)
        return mt_fail_usage(command, "--memory %s: a card has memory; give more, such as 24G",
                             memory);
    job->is_smaller = memory || job->fraction < 1;
    if (!names)
        return add(job, command, sim_gpu_default(), bytes);
    if (strcmp(names, "all"))
        return add_named(job, command, names, bytes);
    for (size_t i = 0; !code && sim_gpu_at(i); i++)
        code = add(job, command, sim_gpu_at(i), bytes);
    return code;
}
