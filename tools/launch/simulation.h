/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands' options for the simulated device.
 */
#ifndef MT_SIMULATION_H
#define MT_SIMULATION_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "simulator/catalogue.h"
#include "tools/terminal/command.h"

struct mt_simulation {
    /* As typed; NULL: the default. */
    const char *gpu, *memory, *gpus, *copy_limit, *values, *skew, *seed, *boxes, *cudnn,
        *world_size, *rank;
    const char *module;         /* that Python is to run, of "-m MODULE" */
    const unsigned *stands_for; /* for how many ranks that of each turn stands; NULL: not known */
};

/* Return whether the user asked for a simulated card. */
bool mt_simulation_is_asked(const struct mt_simulation *simulation);

/* Return whether the user wants the list of cards. */
bool mt_simulation_is_list(const struct mt_simulation *simulation);

/* Print the cards. */
void mt_simulation_list(void);

/* Find a card by its name. Return 0, or MT_EXIT_BAD after a message that names the nearest. */
int mt_simulation_find(const struct mt_command *command, const char *name,
                       const struct sim_gpu **gpu);

/* Find the user's card and its memory in bytes; NULL and 0 if neither was given. Return 0, or
 * MT_EXIT_BAD after a message. */
int mt_simulation_card(const struct mt_command *command, const struct mt_simulation *simulation,
                       const char **name, uint64_t *memory);

/* Return how often the program runs: once for each rank that the user named. */
unsigned mt_simulation_turns(const struct mt_simulation *simulation);

/* Check the options, and that the program can run with them. Return 0, or MT_EXIT_BAD after a
 * message. */
int mt_simulation_check(const struct mt_command *command, const struct mt_simulation *simulation,
                        char *const *program);

/* Say what a rank that failed alone may have missed. */
void mt_simulation_say_failed(const struct mt_simulation *simulation, int code);

/* Prepare the environment for a program, in the first of its turns, or another. Return 0, or
 * MT_EXIT_BAD after a message. */
int mt_simulation_prepare(const struct mt_command *command, const struct mt_simulation *simulation,
                          char *const *program, unsigned turn);

/*
 * A temporary folder in which the ranks of a job that run one after the other leave what they
 * broadcast, for those that run later, and which calls they made to all.
 */

struct mt_sent {
    char folder[PATH_MAX]; /* empty: none */
};

/* Make the folder if several ranks are to run, and no memtap around this one has made it. Return 0,
 * or MT_EXIT_BAD after a message. */
int mt_sent_begin(struct mt_sent *sent, const struct mt_simulation *simulation);

/* Remove it. has_all: each rank ran to a good end, so their calls can be compared first. */
void mt_sent_end(struct mt_sent *sent, const struct mt_simulation *simulation, bool has_all);

#endif
