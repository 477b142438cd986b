/* SPDX-License-Identifier: Apache-2.0 */
/* Find which ranks of a job differ in memory, by short runs of some of them. */
#ifndef MT_RANKS_FIND_H
#define MT_RANKS_FIND_H

#include "tools/memtap/launch/simulation.h"

#include <stdbool.h>

/* Return whether the user requested one rank of each kind. */
bool mt_ranks_are_to_find(const struct mt_simulation *simulation);

/* Run ranks of the program until their iterations repeat, and put one of each kind into the
 * simulation, with how many it stands for. Print the result to stderr unless quiet. Return 0, or an
 * exit code after a message. The simulation's texts live until the process ends. */
int mt_ranks_find(const struct mt_command *command, struct mt_simulation *simulation,
                  char *const *program, bool is_quiet);

#endif
