/* SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "tools/memtap/launch/child.h"
#include "tools/memtap/launch/program.h"
#include "tools/memtap/launch/setting-options.h"
#include "tools/memtap/launch/simulation.h"
#include "tools/memtap/ranks/find.h"

#include <stdlib.h>

/* clang-format off */
const struct mt_option mt_simulate_options[] = {
    {'g', "gpu", "NAME", "simulate h200 ..., or FILE.gpu; list prints the names", "list " MT_CARDS,
     MT_SIMULATION_TEXT(0, gpu)},
    MT_MEMORY_OPTION(0, "its memory, such as 24G or 512MiB"),
    MT_GPUS_OPTION(0),
    {'c', "copy-limit", "SIZE", "do not store the content of larger copies to the card (1M)", NULL,
     MT_SIMULATION_TEXT(0, copy_limit)},
    MT_SIMULATED_OPTIONS(0),
    {0},
};
/* clang-format on */

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
    struct mt_sent sent = {.folder = ""};
    int rc = 0, operand = mt_options_read(command, argc, argv, &simulation);
    if (operand < 0)
        return MT_EXIT_BAD;
    if (mt_simulation_is_list(&simulation)) {
        mt_simulation_list();
        return MT_EXIT_OK;
    }
    if (operand == argc && !simulation.module)
        return mt_fail_usage(command, "no command to run given");
    char **program = mt_program_meant(simulation.module, argv + operand, &rc);
    if (!rc)
        rc = mt_sent_begin(&sent, &simulation);
    if (!rc && mt_ranks_are_to_find(&simulation))
        rc = mt_ranks_find(command, &simulation, program, false);
    if (!rc)
        rc = run_turns(command, &simulation, program);
    mt_sent_end(&sent, &simulation, !rc);
    free(program);
    return rc;
}
