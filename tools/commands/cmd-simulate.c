/* SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "tools/launch/child.h"
#include "tools/launch/program.h"
#include "tools/launch/setting-options.h"
#include "tools/launch/simulation.h"
#include "tools/ranks/find.h"

#include <stdlib.h>

const struct mt_option mt_simulate_options[] = {
    {'g', "gpu", "NAME", "simulate this card: h200 ...; list prints all of them", "list " MT_CARDS},
    {'m', "memory", "SIZE", "give it this memory, such as 24G or 512MiB"},
    {'n', "gpus", "N", "simulate N cards; 1 by default"},
    {'c', "copy-limit", "SIZE", "skip the content of larger copies to the card (1M)"},
    {MT_VALUES_OPTION, "values", "SIZE", "compute tensors up to this size (64K); 0: none"},
    MT_MADE_UP_OPTIONS,
    MT_RANK_OPTIONS,
    {0},
};

static int run_turns(const struct mt_command *command, const struct mt_simulation *simulation,
                     char *const *program)
{
    unsigned turns = mt_simulation_turns(simulation);
    int code = 0;
    for (unsigned turn = 0; turn < turns; turn++) {
        struct mt_child_end end;
        int rc = mt_simulation_prepare(command, simulation, program, turn);
        if (rc)
            return rc;
        rc = turns > 1 ? mt_child_run(program, &end) : mt_child_become(program);
        mt_simulation_say_failed(simulation, rc);
        code = code ? code : rc;
    }
    return code;
}

int mt_run_simulate(const struct mt_command *command, int argc, char **argv)
{
    struct mt_simulation simulation = {0};
    const char *value, *module = NULL;
    int operand, letter, rc = 0;
    while (!module && (letter = mt_options_next(command, argc, argv, &value, &operand)) > 0) {
        if (letter == 'm' && mt_is_module(value, argv, operand))
            module = value;
        else if (letter == 'g')
            simulation.gpu = value;
        else if (letter == 'm')
            simulation.memory = value;
        else if (letter == 'n')
            simulation.gpus = value;
        else if (letter == MT_VALUES_OPTION)
            simulation.values = value;
        else if (letter == MT_SKEW_OPTION)
            simulation.skew = value;
        else if (letter == MT_SEED_OPTION)
            simulation.seed = value;
        else if (letter == MT_BOXES_OPTION)
            simulation.boxes = value;
        else if (letter == MT_WORLD_OPTION)
            simulation.world_size = value;
        else if (letter == MT_RANK_OPTION)
            simulation.rank = value;
        else
            simulation.copy_limit = value;
    }
    if (letter < 0)
        return MT_EXIT_BAD;
    if (mt_simulation_is_list(&simulation)) {
        mt_simulation_list();
        return MT_EXIT_OK;
    }
    if (operand == argc && !module)
        return mt_fail_usage(command, "no command to run given");
    char **program = mt_program_meant(module, argv + operand, &rc);
    if (!rc && mt_ranks_are_to_find(&simulation))
        rc = mt_ranks_find(command, &simulation, program, false);
    if (!rc)
        rc = run_turns(command, &simulation, program);
    free(program);
    return rc;
}
