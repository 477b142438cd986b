/* SPDX-License-Identifier: Apache-2.0 */
/* Find which ranks of a job differ in memory, by short runs of some of them. */
#ifndef MT_RANKS_FIND_H
#define MT_RANKS_FIND_H

#include "tools/launch/simulation.h"

#include <stdbool.h>

/* Return whether the user asked for one rank of each kind. */
bool mt_ranks_are_to_find(const struct mt_simulation *simulation);

/* Run ranks of the program up to where their iterations repeat, and put one of each kind into the
 * simulation, with how many it stands for. Say on stderr what was found, unless quiet. 0, or an
 * exit code after a message. The simulation's texts live until the process ends. */
int mt_ranks_find(const struct mt_command *command, struct mt_simulation *simulation,
                  char *const *program, bool is_quiet);

#endif
