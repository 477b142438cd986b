/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options for the simulated device.
 */
#ifndef MT_SIMULATION_H
#define MT_SIMULATION_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "simulator/catalogue.h"
#include "tools/memtap/terminal/command.h"

struct mt_simulation {
    /* As typed; NULL: the default. */
    const char *gpu, *memory, *gpus, *copy_limit, *values, *skew, *seed, *boxes, *cudnn,
        *world_size, *rank;
    const char *module;         /* the module of "-m MODULE" */
    const unsigned *stands_for; /* by turn, how many ranks it stands for; NULL: unknown */
};

/* Return whether the user requested a simulated card. */
bool mt_simulation_is_requested(const struct mt_simulation *simulation);

/* Return whether the user wants the list of cards. */
bool mt_simulation_is_list(const struct mt_simulation *simulation);

/* Print the cards. */
void mt_simulation_list(void);

/* Find a card by name. Return 0, or MT_EXIT_BAD after a message that suggests the nearest name. */
int mt_simulation_find(const struct mt_command *command, const char *name,
                       const struct sim_gpu **gpu);

/* Find the user's card and its memory in bytes; NULL and 0 if not given. Return 0, or MT_EXIT_BAD
 * after a message. */
int mt_simulation_card(const struct mt_command *command, const struct mt_simulation *simulation,
                       const char **name, uint64_t *memory);

/* Return how often the program runs: once for each requested rank. */
unsigned mt_simulation_turns(const struct mt_simulation *simulation);

/* Check the options, and that the program can run with them. Return 0, or MT_EXIT_BAD after a
 * message. */
int mt_simulation_check(const struct mt_command *command, const struct mt_simulation *simulation,
                        char *const *program);

/* Print what a rank that failed alone may have lacked. */
void mt_simulation_say_failed(const struct mt_simulation *simulation, int code);

/* Prepare the program's environment for a turn. Return 0, or MT_EXIT_BAD after a message. */
int mt_simulation_prepare(const struct mt_command *command, const struct mt_simulation *simulation,
                          char *const *program, unsigned turn);

/*
 * A temporary folder in which the ranks of a job, run one after the other, leave their broadcasts
 * for later ranks, and their collective calls.
 */

struct mt_sent {
    char folder[PATH_MAX]; /* empty: none */
};

/* Create the folder if several ranks run and no outer memtap has created it. Return 0, or
 * MT_EXIT_BAD after a message. */
int mt_sent_begin(struct mt_sent *sent, const struct mt_simulation *simulation);

/* Remove it. has_all: all ranks succeeded, so compare their calls first. */
void mt_sent_end(struct mt_sent *sent, const struct mt_simulation *simulation, bool has_all);

#endif
